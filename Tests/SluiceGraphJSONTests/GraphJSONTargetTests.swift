// SPDX-License-Identifier: Apache-2.0
import SluiceGraphJSON
import Testing

struct GraphJSONTargetTests {
    @Test(
        arguments: [
            ("https://api.graphjson.com", "https://api.graphjson.com"),
            ("https://api.graphjson.com/", "https://api.graphjson.com"),
            ("HTTPS://API.GraphJSON.com//", "https://api.graphjson.com"),
            ("https://www.graphjson.com/api/log", "https://www.graphjson.com"),
            ("https://www.graphjson.com/api/bulk-log/", "https://www.graphjson.com"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/Proxy/", "http://[::1]:8080/Proxy"),
            ("http://sink_1.internal/a/api/log", "http://sink_1.internal/a"),
        ]
    )
    func `a base is tidied and gets the paths of the API`(url: String, base: String) throws {
        let target = try GraphJSONTarget(url: url)
        #expect(target.base == base)
        #expect(target.url(for: .single) == base + "/api/log")
        #expect(target.url(for: .sharedTimestamp) == base + "/api/bulk-log")
        #expect(target.url(for: .timestamps) == base + "/api/bulk-log")
    }

    @Test func `the way without TLS is known`() throws {
        #expect(try !GraphJSONTarget(url: "https://a").isPlainText)
        #expect(try GraphJSONTarget(url: "http://a").isPlainText)
        #expect(try !GraphJSONTarget(url: "http://a").isLoopback)
        for host in ["localhost", "127.0.0.2:80", "[::1]", "LOCALHOST:1"] {
            #expect(try GraphJSONTarget(url: "http://\(host)").isLoopback)
        }
    }

    @Test(
        arguments: [
            ("", "must begin with"), ("api.graphjson.com", "must begin with"), ("ftp://a", "must begin with"),
            ("https:/a", "must begin with"), ("https://", "host"), ("https:///path", "host"), ("https://:80", "host"),
            ("https://a:0", "port"), ("https://a:65536", "port"), ("https://a:", "port"), ("https://a:+1", "port"),
            ("https://user:hunter2@a", "user name"), ("https://a/?key=hunter2", "query"),
            ("https://a#hunter2", "fragment"),
            ("https://a b", "character"), ("https://ä.example", "character"), ("https://a\n", "character"),
            ("https://a%41", "host"), ("https://[zz]", "host"), ("https://[]", "host"), ("https://a/\"", "character"),
        ]
    )
    func `a bad URL is refused with the reason and without its secrets`(url: String, reason: String) {
        let error = #expect(throws: GraphJSONURLError.self) { try GraphJSONTarget(url: url) }
        #expect(error?.description.contains(reason) == true)
        #expect(error?.description.contains("hunter2") == false)
    }
}
