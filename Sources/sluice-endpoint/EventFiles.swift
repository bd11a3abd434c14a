// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceEvents

extension Arguments {
    /// Takes what is left as the inputs that events are read from; without a word it is standard input.
    mutating func eventFiles() throws(UsageError) -> [String] {
        let words = try remaining("[FILE…]")
        return words.isEmpty ? ["-"] : words
    }
}

extension Configuration {
    /// The contract, for what cannot be done without one.
    func requiredContract() throws(ConfigurationError) -> Contract {
        if let contract = try contract() { return contract }
        throw ConfigurationError([
            "endpoint.contract (--contract, SLUICE_ENDPOINT_CONTRACT) must name the contract's file"
        ])
    }
}
