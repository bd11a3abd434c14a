// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let clientSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
]

#if os(Linux)
let clientResources: [Resource] = []
let clientDocuments = ["PrivacyInfo.xcprivacy", "README.md", "SluiceClient.docc"]
#else
let clientResources = [Resource.copy("PrivacyInfo.xcprivacy")]
let clientDocuments = ["README.md"]
#endif

let swiftSettings: [SwiftSetting] =
    clientSettings + [
        // A check at each access to a property of an object costs a fifth of the hot paths; debug and test builds keep it.
        .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
    ]

/// A Debian library: headers and typed shims only.
func room(_ name: String, pkgConfig: String, package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

func module(_ name: String, uses: [String] = []) -> Target {
    .target(name: name, dependencies: uses.map { .byName(name: $0) }, swiftSettings: swiftSettings)
}

func program(_ name: String, uses: [String]) -> Target {
    .executableTarget(name: name, dependencies: uses.map { .byName(name: $0) }, swiftSettings: swiftSettings)
}

/// A part of the tests that is no test: a library or program of their own.
func testing(_ name: String, isProgram: Bool = false, uses: [String]) -> Target {
    let dependencies: [Target.Dependency] = uses.map { .byName(name: $0) }
    let path = "Tests/\(name)"
    if isProgram {
        return .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: swiftSettings)
    }
    return .target(name: name, dependencies: dependencies, path: path, swiftSettings: swiftSettings)
}

func tests(_ name: String, uses: [String], inputs: [String] = []) -> Target {
    .testTarget(
        name: name,
        dependencies: (uses + ["SluiceTestSupport", "SluiceSystem"]).map { .byName(name: $0) },
        exclude: inputs,
        swiftSettings: swiftSettings
    )
}

let package = Package(
    name: "sluice",
    platforms: [.iOS(.v16), .macOS(.v13)],  // for SluiceClient; all else is for Linux
    products: [
        .library(name: "SluiceClient", targets: ["SluiceClient"]),
        .executable(name: "sluice-endpoint", targets: ["sluice-endpoint"]),
        .executable(name: "sluice-relay", targets: ["sluice-relay"]),
        .executable(name: "graphjson-stub", targets: ["graphjson-stub"]),
        .executable(name: "sluice-bench", targets: ["sluice-bench"]),
    ],
    targets: [
        room("CSluiceCurl", pkgConfig: "libcurl", package: "libcurl4-openssl-dev"),
        room("CSluiceLZ4", pkgConfig: "liblz4", package: "liblz4-dev"),
        room("CSluiceMicroHTTPD", pkgConfig: "libmicrohttpd", package: "libmicrohttpd-dev"),
        room("CSluiceJWT", pkgConfig: "libjwt", package: "libjwt-dev"),
        room("CSluiceZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        room("CSluiceXXHash", pkgConfig: "libxxhash", package: "libxxhash-dev"),
        room("CSluiceSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
        .target(name: "CSluiceSystem"),
        .target(name: "CSluiceJSON", linkerSettings: [.linkedLibrary("simdjson")]),
        .target(
            name: "CSluiceFloor",
            dependencies: ["CSluiceJSON"],
            linkerSettings: [.linkedLibrary("lz4"), .linkedLibrary("microhttpd")]
        ),

        module("SluiceSystem", uses: ["CSluiceSystem"]),
        module("SluiceJSON", uses: ["CSluiceJSON", "SluiceSystem"]),
        module("SluiceEvents", uses: ["SluiceJSON", "SluiceSystem"]),
        module("SluiceSpool", uses: ["CSluiceLZ4", "CSluiceSystem", "CSluiceXXHash", "SluiceJSON", "SluiceSystem"]),
        module("SluiceHTTP", uses: ["CSluiceCurl", "SluiceSystem"]),
        module("SluiceGraphJSON", uses: ["SluiceHTTP", "SluiceJSON", "SluiceSystem"]),
        module("SluiceServer", uses: ["CSluiceMicroHTTPD", "SluiceSystem"]),
        module("SluiceTelemetry", uses: ["SluiceSystem"]),
        module(
            "SluiceCommands",
            uses: ["SluiceEvents", "SluiceJSON", "SluiceServer", "SluiceSpool", "SluiceTelemetry", "SluiceSystem"]
        ),
        module(
            "SluiceRelay",
            uses: [
                "SluiceEvents", "SluiceGraphJSON", "SluiceHTTP", "SluiceJSON", "SluiceSpool", "SluiceTelemetry",
                "SluiceSystem",
            ]
        ),
        module(
            "SluiceEndpoint",
            uses: [
                "CSluiceJWT", "CSluiceZlib", "SluiceEvents", "SluiceJSON", "SluiceServer", "SluiceSpool",
                "SluiceTelemetry",
                "SluiceSystem",
            ]
        ),
        module("SluiceSoak", uses: ["SluiceJSON", "SluiceSystem"]),
        module(
            "SluiceTestSupport",
            uses: [
                "CSluiceJWT", "CSluiceZlib", "SluiceJSON", "SluiceServer", "SluiceSpool", "SluiceTelemetry",
                "SluiceSystem",
            ]
        ),

        // For apps: it uses nothing else of this package, and no flags that keep other packages from using it.
        .target(
            name: "SluiceClient",
            dependencies: [.target(name: "CSluiceSQLite", condition: .when(platforms: [.linux]))],
            exclude: clientDocuments,
            resources: clientResources,
            swiftSettings: clientSettings
        ),
        .executableTarget(
            name: "sluice-client-sample",
            dependencies: ["SluiceClient"],
            swiftSettings: clientSettings
        ),

        program(
            "sluice-endpoint",
            uses: [
                "SluiceCommands", "SluiceEndpoint", "SluiceEvents", "SluiceJSON", "SluiceServer", "SluiceSpool",
                "SluiceTelemetry", "SluiceSystem",
            ]
        ),
        program(
            "sluice-relay",
            uses: [
                "SluiceCommands", "SluiceEvents", "SluiceGraphJSON", "SluiceHTTP", "SluiceJSON", "SluiceRelay",
                "SluiceServer", "SluiceSpool", "SluiceTelemetry", "SluiceSystem",
            ]
        ),
        program(
            "graphjson-stub",
            uses: ["SluiceCommands", "SluiceJSON", "SluiceServer", "SluiceSoak", "SluiceSystem"]
        ),
        program(
            "sluice-bench",
            uses: [
                "CSluiceFloor", "SluiceCommands", "SluiceEvents", "SluiceGraphJSON", "SluiceHTTP", "SluiceJSON",
                "SluiceRelay", "SluiceSoak", "SluiceSpool", "SluiceSystem",
            ]
        ),

        .target(name: "CCallRecorder", path: "Tests/CCallRecorder"),
        testing(
            "SpoolModel",
            uses: [
                "SluiceGraphJSON", "SluiceHTTP", "SluiceJSON", "SluiceRelay", "SluiceSpool", "SluiceTelemetry",
                "SluiceTestSupport", "SluiceSystem",
            ]
        ),
        testing(
            "spool-model",
            isProgram: true,
            uses: ["CCallRecorder", "SluiceCommands", "SluiceTestSupport", "SpoolModel", "SluiceSystem"]
        ),
        testing(
            "SluiceFuzzing",
            uses: [
                "SluiceCommands", "SluiceEndpoint", "SluiceEvents", "SluiceGraphJSON", "SluiceHTTP", "SluiceJSON",
                "SluiceRelay", "SluiceServer", "SluiceSpool", "SluiceTestSupport", "SluiceSystem",
            ]
        ),
        testing("sluice-fuzz", isProgram: true, uses: ["SluiceFuzzing", "SluiceSystem"]),
        testing("client-probe", isProgram: true, uses: ["SluiceClient"]),
        tests("SluiceClientTests", uses: ["SluiceClient"], inputs: ["Golden"]),
        tests("SpoolModelTests", uses: ["SpoolModel"]),
        tests("SluiceSystemTests", uses: []),
        tests("SluiceJSONTests", uses: ["SluiceJSON"]),
        tests("SluiceEventsTests", uses: ["SluiceEvents", "SluiceJSON"], inputs: ["Inputs"]),
        tests("SluiceSpoolTests", uses: ["SluiceSpool", "SluiceJSON"]),
        tests("SluiceHTTPTests", uses: ["SluiceHTTP"]),
        tests("SluiceGraphJSONTests", uses: ["SluiceGraphJSON", "SluiceHTTP", "SluiceJSON"], inputs: ["Answers"]),
        tests("GraphJSONStubTests", uses: ["SluiceHTTP", "SluiceJSON", "graphjson-stub"]),
        tests("SluiceServerTests", uses: ["SluiceServer"]),
        tests("SluiceSoakTests", uses: ["SluiceJSON", "SluiceSoak"]),
        tests("SluiceTelemetryTests", uses: ["SluiceTelemetry"]),
        tests("SluiceCommandsTests", uses: ["SluiceCommands", "SluiceTelemetry"]),
        tests(
            "SluiceRelayTests",
            uses: [
                "SluiceRelay", "SluiceEvents", "SluiceGraphJSON", "SluiceHTTP", "SluiceJSON", "SluiceSpool",
                "SluiceTelemetry",
            ],
            inputs: ["Segments"]
        ),
        tests(
            "SluiceEndpointTests",
            uses: [
                "SluiceEndpoint", "SluiceEvents", "SluiceJSON", "SluiceServer", "SluiceSpool",
                "SluiceTelemetry",
            ],
            inputs: ["Inputs"]
        ),
        tests(
            "ConformanceTests",
            uses: [
                "SluiceClient", "SluiceEndpoint", "SluiceEvents", "SluiceJSON", "SluiceServer", "SluiceSpool",
                "SluiceTelemetry",
            ]
        ),
        tests("SluiceFuzzingTests", uses: ["SluiceFuzzing"], inputs: ["Corpus", "Dictionaries"]),
        tests("IntegrationTests", uses: ["SluiceClient", "SluiceHTTP", "SluiceJSON", "SluiceSpool"]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
