/**
 * Device codes: logins that a device without a browser has begun (RFC 8628), and what the person has decided.
 *
 * They are held in memory, because anyone can begin a login and each write would add to the audit log. A restart ends the logins in
 * progress; the devices begin again. Both codes are looked up by keyed hashes. Their number is bounded (`device-code-table.ts`).
 */

import { isSameHash } from '../plan/credential-format.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import { DeviceCodeTable } from './device-code-table.ts'
import type { Login } from './token-grants.ts'

/** The access that a device requests. */
export interface DeviceRequest {
  readonly clientId: string
  /** `''`: the member of the client's product that redeems the code. */
  readonly api: string
  /** Null if none was sent. */
  readonly scope: string | null
  readonly wantsIdToken: boolean
  readonly wantsProfile: boolean
}

export interface NewDeviceCode {
  readonly deviceCode: string
  readonly userCode: string
  readonly expiresInSeconds: number
  readonly intervalSeconds: number
}

/** A code that a person has entered. */
export interface EnteredCode {
  readonly id: string
  readonly userCode: string
  readonly request: DeviceRequest
}

export type DevicePoll =
  | { readonly state: 'unknown' | 'expired' | 'pending' | 'too fast' | 'denied' }
  | { readonly state: 'allowed'; readonly id: string; readonly request: DeviceRequest; readonly login: Login }

export interface DeviceCodes {
  /** `address` is that of the device. */
  create(request: DeviceRequest, address: string): NewDeviceCode
  /** Returns the code that waits for a decision; null if there is none. */
  enter(userCode: string): EnteredCode | null
  /** Returns false if the code has expired or was decided before. */
  allow(id: string, login: Login): boolean
  deny(id: string): void
  /** Returns the state for the device; `clientId` and `api` are those of its request. */
  poll(deviceCode: string, clientId: string, api: string): DevicePoll
  /** Uses the code up; returns false if it was used before. */
  take(id: string): boolean
}

export interface DeviceCodesOptions {
  readonly keyedHash: (text: string) => string
  readonly randomBytes: (size: number) => Buffer
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
}

interface DeviceCode extends EnteredCode {
  readonly address: string
  readonly secretHash: string
  readonly userCodeHash: string
  readonly expiresAtMs: number
  intervalMs: number
  polledAtMs: number
  decision: Login | 'denied' | null
}

type HashOf = (part: 'user' | 'device', text: string) => string

const LIFETIME_MS = 10 * 60_000
const INTERVAL_MS = 5_000
/** Added after each poll that comes too early (RFC 8628, 3.5). */
const SLOW_DOWN_MS = 5_000
/** How long the device gets `expired_token` before the code is unknown. */
const REMEMBERED_MS = 5 * 60_000
const SECRET_BYTES = 32
/** Without vowels, so that codes form no words, and without letters that look alike (RFC 8628, 6.1). */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const USER_CODE_LENGTH = 10
const TEXT_LENGTH_MAX = 256

export function createDeviceCodes(options: DeviceCodesOptions): DeviceCodes {
  const { clock } = options
  const table = new DeviceCodeTable<DeviceCode>()
  const hashOf: HashOf = (part, text) => options.keyedHash(`${part} code ${text}`)
  const isOpen = (code: DeviceCode): boolean => code.decision === null && code.expiresAtMs > clock.nowMs()

  return {
    create(request, address) {
      table.removePast(clock.nowMs() - REMEMBERED_MS)
      let created = toDeviceCode(options, hashOf, request, address)
      while (table.byUserCode(created.code.userCodeHash) !== undefined) {
        created = toDeviceCode(options, hashOf, request, address)
      }
      const { code, deviceCode } = created
      table.add(code)
      const [expiresInSeconds, intervalSeconds] = [LIFETIME_MS / 1_000, INTERVAL_MS / 1_000]
      return { deviceCode, userCode: code.userCode, expiresInSeconds, intervalSeconds }
    },
    enter(text) {
      const userCode = text.length > TEXT_LENGTH_MAX ? '' : normalize(text)
      const code = userCode.length === USER_CODE_LENGTH ? table.byUserCode(hashOf('user', userCode)) : undefined
      if (code === undefined || !isOpen(code)) return null
      table.touch(code)
      return code
    },
    allow(id, login) {
      const code = table.get(id)
      if (code === undefined || !isOpen(code)) return false
      code.decision = login
      table.touch(code)
      return true
    },
    deny(id) {
      const code = table.get(id)
      if (code !== undefined && isOpen(code)) code.decision = 'denied'
    },
    poll(text, clientId, api) {
      const [id = '', secret = ''] = text.length > TEXT_LENGTH_MAX ? [] : text.split('.', 2)
      const code = table.get(id)
      if (code === undefined || !isSameHash(hashOf('device', `${id} ${secret}`), code.secretHash)) {
        return { state: 'unknown' }
      }
      const { request } = code
      if (request.clientId !== clientId || (request.api !== '' && request.api !== api)) return { state: 'unknown' }
      table.touch(code)
      return pollOf(code, clock.nowMs())
    },
    take(id) {
      const code = table.get(id)
      if (code !== undefined) table.remove(code)
      return code !== undefined
    },
  }
}

function toDeviceCode(
  { randomBytes, createId, clock }: DeviceCodesOptions,
  hashOf: HashOf,
  request: DeviceRequest,
  address: string,
): { readonly code: DeviceCode; readonly deviceCode: string } {
  const id = createId('dev')
  const nowMs = clock.nowMs()
  const userCode = toUserCode(randomBytes)
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const code: DeviceCode = {
    id,
    request,
    address,
    userCode: `${userCode.slice(0, USER_CODE_LENGTH / 2)}-${userCode.slice(USER_CODE_LENGTH / 2)}`,
    userCodeHash: hashOf('user', userCode),
    secretHash: hashOf('device', `${id} ${secret}`),
    expiresAtMs: nowMs + LIFETIME_MS,
    intervalMs: INTERVAL_MS,
    polledAtMs: nowMs - INTERVAL_MS,
    decision: null,
  }
  return { code, deviceCode: `${id}.${secret}` }
}

function pollOf(code: DeviceCode, nowMs: number): DevicePoll {
  const { id, request, decision, expiresAtMs } = code
  if (expiresAtMs <= nowMs) return { state: 'expired' }
  if (decision === 'denied') return { state: 'denied' }
  if (decision !== null) return { state: 'allowed', id, request, login: decision }
  const isTooFast = nowMs - code.polledAtMs < code.intervalMs
  code.polledAtMs = nowMs
  if (isTooFast) code.intervalMs += SLOW_DOWN_MS
  return { state: isTooFast ? 'too fast' : 'pending' }
}

/** Draws letters without bias: bytes above the largest multiple of 20 are drawn again. */
function toUserCode(randomBytes: DeviceCodesOptions['randomBytes']): string {
  const limit = 256 - (256 % ALPHABET.length)
  let text = ''
  while (text.length < USER_CODE_LENGTH) {
    for (const byte of randomBytes(USER_CODE_LENGTH)) {
      if (byte < limit && text.length < USER_CODE_LENGTH) text += ALPHABET[byte % ALPHABET.length]!
    }
  }
  return text
}

/** Accepts a code in any case, with or without separators. */
function normalize(text: string): string {
  return text.toUpperCase().replaceAll(/[^A-Z]/g, '')
}
