// SPDX-License-Identifier: Apache-2.0

// A stand-in for Apple's BackgroundTasks, so that the code that uses it is type-checked on other systems. Written by hand
// after https://developer.apple.com/documentation/backgroundtasks; only what is declared there, and nothing that runs.
@preconcurrency public import Dispatch
public import Foundation

open class BGTask: NSObject {
    open var identifier: String { "" }
    open var expirationHandler: (() -> Void)?
    open func setTaskCompleted(success: Bool) {}
}

open class BGProcessingTask: BGTask {}

open class BGAppRefreshTask: BGTask {}

open class BGTaskRequest: NSObject {
    open var identifier: String { "" }
    open var earliestBeginDate: Date?
}

open class BGProcessingTaskRequest: BGTaskRequest {
    /// Makes a request.
    public init(identifier: String) {}
    open var requiresNetworkConnectivity = false
    open var requiresExternalPower = false
}

open class BGAppRefreshTaskRequest: BGTaskRequest {
    /// Makes a request.
    public init(identifier: String) {}
}

open class BGTaskScheduler: NSObject {
    open class var shared: BGTaskScheduler { BGTaskScheduler() }

    open func register(
        forTaskWithIdentifier identifier: String,
        using queue: DispatchQueue?,
        launchHandler: @escaping (BGTask) -> Void
    ) -> Bool { true }

    open func submit(_ taskRequest: BGTaskRequest) throws {}
    open func cancel(taskRequestWithIdentifier identifier: String) {}
    open func cancelAllTaskRequests() {}
}
