/** Decodes base64 piece by piece while it arrives; decoding 10 MB at once would block the main thread. */

import { createHash } from 'node:crypto'

export interface DecoderOptions {
  /** Upper bound of the characters. */
  readonly charactersMax: number
  /** The number of bytes to expect. */
  readonly bytesExpected: number
}

export interface DecodedText {
  readonly bytes: Uint8Array
  /** SHA-256, in hex. */
  readonly digest: string
}

const PADDING_MAX = 2

export class Base64Decoder {
  readonly #charactersMax: number
  readonly #hash = createHash('sha256')
  #bytes: Buffer
  #length = 0
  #characters = 0
  /** Digits that do not fill a group yet. */
  #digits = ''
  /** From the first `=`. */
  #padding = ''
  #isValid = true

  constructor({ charactersMax, bytesExpected }: DecoderOptions) {
    this.#charactersMax = charactersMax
    this.#bytes = Buffer.allocUnsafeSlow(Math.min(bytesExpected, toBytes(charactersMax)))
  }

  get isTooLong(): boolean {
    return this.#characters > this.#charactersMax
  }

  write(text: string): void {
    this.#characters += text.length
    if (this.isTooLong || !this.#isValid) return
    const given = text.replaceAll(/\s+/g, '')
    const end = this.#padding === '' ? given.indexOf('=') : 0
    const digits = this.#digits + (end < 0 ? given : given.slice(0, end))
    if (end >= 0) this.#padding += given.slice(end, end + PADDING_MAX + 1)
    if (!/^={0,2}$/.test(this.#padding)) this.#isValid = false
    const whole = digits.length - (digits.length % 4)
    this.#append(digits.slice(0, whole))
    this.#digits = digits.slice(whole)
  }

  /** Returns null if the text is not base64. */
  end(): DecodedText | null {
    const hasRest = this.#digits.length !== 1
    this.#append(this.#digits)
    if (!hasRest || !this.#isValid || this.#length === 0) return null
    return { bytes: this.#bytes.subarray(0, this.#length), digest: this.#hash.digest('hex') }
  }

  #append(digits: string): void {
    if (digits === '') return
    const added = toBytes(digits.length)
    this.#reserve(added)
    const written = this.#bytes.write(digits, this.#length, 'base64')
    // Decoding skips other characters, and accepts those of base64url.
    if (written !== added || digits.includes('-') || digits.includes('_')) this.#isValid = false
    this.#hash.update(this.#bytes.subarray(this.#length, this.#length + written))
    this.#length += written
  }

  #reserve(added: number): void {
    if (this.#length + added <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#length + added, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

function toBytes(digits: number): number {
  return Math.floor((digits * 3) / 4)
}
