// SPDX-License-Identifier: Apache-2.0
@main
struct Program {
    static func main() {}
}
