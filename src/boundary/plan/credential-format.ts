/**
 * The format of credentials, which scanners recognise and the gateway checks without a look-up.
 *
 * An API key is `tg_`, 43 base62 characters (256 bits) and 6 characters of a CRC-32 over the preceding
 * ones: a mistyped or invented key costs no look-up, and secret scanners find a leaked one by its format.
 */

import { crc32 } from 'node:zlib'
import { timingSafeEqual } from 'node:crypto'

export type RandomBytes = (size: number) => Buffer

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_PREFIX = 'tg_'
const SECRET_PREFIX = 'tgs_'
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
const KEY_LENGTH = KEY_PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH
const KEY = /^tg_[0-9A-Za-z]{49}$/

export function createApiKey(randomBytes: RandomBytes): string {
  return withChecksum(KEY_PREFIX + randomBase62(randomBytes))
}

export function createClientSecret(randomBytes: RandomBytes): string {
  return withChecksum(SECRET_PREFIX + randomBase62(randomBytes))
}

/** Whether `text` has the form of an API key, its checksum included. */
export function isApiKeyShaped(text: string): boolean {
  if (text.length !== KEY_LENGTH || !KEY.test(text)) return false
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

/** The start of an API key, which names it to people: 30 of its 256 random bits. */
const KEY_START_LENGTH = 8

/** Returns the first characters of a key, under which it is found. */
export function startOfKey(apiKey: string): string {
  return apiKey.slice(0, KEY_START_LENGTH)
}

/** Compares two hashes of one length in constant time. */
export function isSameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

function withChecksum(text: string): string {
  return text + checksum(text)
}

function checksum(text: string): string {
  let value = crc32(text)
  let digits = ''
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    digits = BASE62[value % 62]! + digits
    value = Math.floor(value / 62)
  }
  return digits
}

/** 43 characters encode 256 bits, since 62^43 exceeds 2^256. */
function randomBase62(randomBytes: RandomBytes): string {
  let value = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let text = ''
  for (let index = 0; index < RANDOM_LENGTH; index++) {
    text += BASE62[Number(value % 62n)]!
    value /= 62n
  }
  return text
}
