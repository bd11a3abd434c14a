// SPDX-License-Identifier: Apache-2.0
import SluiceJSON
import SluiceSystem
import Testing

struct JSONIsolationTests {
    private struct Parts: Equatable {
        var outline: String
        var elements: [String]
    }

    private func split(_ text: String, maximumElements: Int = 100) -> Parts {
        var buffer = ByteBuffer()
        buffer.append(text)
        let parts = JSONIsolation(of: "events", in: buffer.bytes, maximumElements: maximumElements)
        return Parts(
            outline: String(decoding: parts.outline.bytes, as: UTF8.self),
            elements: parts.elements.map { String(decoding: buffer.bytes[$0], as: UTF8.self) }
        )
    }

    @Test func `elements are found and every other byte keeps its offset`() {
        let parts = split(#"{"a":[1,{"events":[7]}],"events":[{"x":[1,2]} , "}],[" ,[],1e400],"b":"events"}"#)
        #expect(parts.elements == [#"{"x":[1,2]}"#, #""}],[""#, "[]", "1e400"])
        #expect(parts.outline == #"{"a":[1,{"events":[7]}],"events":[0           , 0      ,0 ,0    ],"b":"events"}"#)
    }

    @Test func `quotes and backslashes inside strings do not end them`() {
        let parts = split(#"{"events":[{"k\"]":"\\"},"\\\"]"]}"#)
        #expect(parts.elements == [#"{"k\"]":"\\"}"#, #""\\\"]""#])
    }

    @Test func `holes stay holes`() {
        #expect(split(#"{"events":[, {} ,]}"#) == Parts(outline: #"{"events":[, 0  ,]}"#, elements: ["{}"]))
        #expect(split(#"{"events":[ ]}"#) == Parts(outline: #"{"events":[ ]}"#, elements: []))
    }

    @Test(arguments: [
        #"{"events":{"a":[1]}}"#, #"["events",[1]]"#, #"{"x":{"events":[1]}}"#, #"{"events","x":[1]}"#, "[", "\"",
        "{\"",
        #"{"event":[1]}"#, "",
    ])
    func `only the top-level member of that name is taken apart`(text: String) {
        #expect(split(text) == Parts(outline: text, elements: []))
    }

    @Test func `what never ends stays broken`() {
        #expect(split(#"{"events":[{"a":1},{"b":[2}"#).elements == [#"{"a":1}"#])
        #expect(split(#"{"events":[{"a":"x}"#).elements == [])
    }

    @Test func `counting stops one past the limit`() {
        #expect(split(#"{"events":[1,2,3,4,5,6]}"#, maximumElements: 3).elements == ["1", "2", "3", "4"])
    }
}
