// SPDX-License-Identifier: Apache-2.0

/// The document that explains every setting, made from the table that reads them.
package enum ConfigurationDocument {
    package static var markdown: String {
        var text = """
            # Configuration

            <!-- Made from the code by `sluice-relay help --configuration`; a test compares the two. -->

            One JSON5 file: `--config FILE`, else `\(ConfigurationSource.defaultPath)`, else the defaults below. A variable of the environment
            overrides the file (`SLUICE_` with section and key in capitals, as shown), an option overrides both. An empty variable counts as
            absent; a list is written there with commas. Both programs read the same file. An unknown key is an error that names it.
            The API key never stands in the file: see `graphjson.api_key_file`.

            """
        var section = ""
        for setting in Setting.all {
            if setting.section != section {
                section = setting.section
                text += "\n## \(section)\n\n| key | takes | default | meaning |\n|---|---|---|---|\n"
            }
            let names = ["`\(setting.name)`", setting.flag.map { "`\($0)`" }, "`\(setting.environmentName)`"]
            let cells = [
                names.compactMap { $0 }.joined(separator: "<br>"), cell(setting.allowed), "`\(setting.defaultText)`",
                cell(setting.meaning),
            ]
            text += "| \(cells.joined(separator: " | ")) |\n"
        }
        return text
    }

    /// The same as a page for `man`.
    package static func manual(version: String) -> String {
        var page = ManualPage(
            title: "sluice.json5",
            section: 5,
            version: version,
            abstract: "Configuration of sluice-endpoint(1) and sluice-relay(1)."
        )
        page.heading("DESCRIPTION")
        page.text(
            """
            One JSON5 file: --config FILE, else \(ConfigurationSource.defaultPath), else the defaults below. A variable of the
            environment overrides the file, an option overrides both. An empty variable counts as absent; a list is
            written there with commas. Both programs read the same file. An unknown key is an error that names it.

            The API key never stands in the file: see graphjson.api_key_file.
            """
        )
        var section = ""
        for setting in Setting.all {
            if setting.section != section {
                section = setting.section
                page.heading(section.uppercased())
            }
            let names = [setting.name, setting.environmentName, setting.flag].compactMap { $0 }
            page.item(
                names.joined(separator: ", "),
                "\(setting.meaning) Takes \(setting.allowed). Default: \(setting.defaultText)."
            )
        }
        page.heading("SEE ALSO")
        page.text("sluice-endpoint(1), sluice-relay(1)")
        return page.text
    }

    private static func cell(_ text: String) -> String { text.replacing("|", with: "\\|") }
}
