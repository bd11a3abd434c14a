// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import Testing

struct ByteBufferTests {
    @Test func `whole numbers are written in digits, from the least to the greatest`() {
        var numbers = [0, .min, .max, .min + 1, .max - 1]
        var power = 1
        for _ in 0..<18 {
            power *= 10
            numbers += [power - 1, power, power + 1, -power + 1, -power, -power - 1]
        }
        for number in numbers {
            var buffer = ByteBuffer()
            buffer.append(decimal: number)
            #expect(String(decoding: buffer.bytes, as: UTF8.self) == String(number))
        }
    }
}
