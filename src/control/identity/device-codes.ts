/**
 * Device codes: sign-ins that a device without a browser has begun (RFC 8628), and what the person has decided.
 *
 * They are no documents, because anyone can begin a sign-in and each write would add to the audit log. Both codes are looked up by keyed
 * hashes. Their number is bounded, and the requests and decisions are encrypted (`storage/store/device-codes.ts`).
 */

import { isSameHash } from '../../boundary/plan/credential-format.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import { INTERVAL_MS, LIFETIME_MS, type DeviceCodeStore } from '../../storage/store/device-codes.ts'
import { networkOf } from './network-of.ts'
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
  create(request: DeviceRequest, address: string): Promise<NewDeviceCode>
  /** Returns the code that waits for a decision; null if there is none. */
  enter(userCode: string): Promise<EnteredCode | null>
  /** Returns false if the code has expired or was decided before. */
  allow(id: string, login: Login): Promise<boolean>
  deny(id: string): Promise<void>
  /** Returns the state for the device; `clientId` and `api` are those of its request. */
  poll(deviceCode: string, clientId: string, api: string): Promise<DevicePoll>
  /** Uses the code up; returns false if it was used before. */
  take(id: string): Promise<boolean>
}

export interface DeviceCodesOptions {
  readonly store: DeviceCodeStore
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt' | 'keyedHash'>
  readonly randomBytes: (size: number) => Buffer
  readonly createId: CreateId
}

/** The part of a code that is stored encrypted. */
type SealedRequest = Pick<EnteredCode, 'userCode' | 'request'>
type Decision = Login | 'denied'
type Part = 'user' | 'device' | 'network of a device'

const SECRET_BYTES = 32
/** Without vowels, so that codes form no words, and without letters that look alike (RFC 8628, 6.1). */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const USER_CODE_LENGTH = 10
const TEXT_LENGTH_MAX = 256
const ID = /^dev_[0-9a-z]{1,32}$/
/** A user code is drawn again if it is in use. */
const ATTEMPTS_MAX = 10

export function createDeviceCodes(options: DeviceCodesOptions): DeviceCodes {
  const { store, vault } = options
  const hashOf = (part: Part, text: string): string => vault.keyedHash(`${part} code ${text}`)
  const contextOf = (id: string): string => `device code ${id}`
  const seal = (id: string, value: SealedRequest | Decision): string =>
    vault.encrypt(JSON.stringify(value), contextOf(id))
  const open = (id: string, sealed: string): unknown => JSON.parse(vault.decrypt(sealed, contextOf(id)))

  /** Returns null if the user code is in use. */
  async function tryCreate(request: DeviceRequest, address: string): Promise<NewDeviceCode | null> {
    const id = options.createId('dev')
    const letters = toUserCode(options.randomBytes)
    const userCode = `${letters.slice(0, USER_CODE_LENGTH / 2)}-${letters.slice(USER_CODE_LENGTH / 2)}`
    const secret = options.randomBytes(SECRET_BYTES).toString('base64url')
    const isAdded = await store.add({
      id,
      userCodeHash: hashOf('user', letters),
      secretHash: hashOf('device', `${id} ${secret}`),
      networkHash: hashOf('network of a device', networkOf(address)),
      request: seal(id, { userCode, request }),
    })
    const [expiresInSeconds, intervalSeconds] = [LIFETIME_MS / 1_000, INTERVAL_MS / 1_000]
    return isAdded ? { deviceCode: `${id}.${secret}`, userCode, expiresInSeconds, intervalSeconds } : null
  }

  return {
    async create(request, address) {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const created = await tryCreate(request, address)
        if (created !== null) return created
      }
      throw new Error(`${ATTEMPTS_MAX} random user codes were in use`)
    },
    async enter(text) {
      const userCode = text.length > TEXT_LENGTH_MAX ? '' : normalize(text)
      const found = userCode.length === USER_CODE_LENGTH ? await store.enter(hashOf('user', userCode)) : null
      return found === null ? null : { id: found.id, ...(open(found.id, found.request) as SealedRequest) }
    },
    allow: (id, login) => store.decide(id, seal(id, login)),
    async deny(id) {
      await store.decide(id, seal(id, 'denied'))
    },
    async poll(text, clientId, api) {
      const [id = '', secret = ''] = text.length > TEXT_LENGTH_MAX ? [] : text.split('.', 2)
      const code = ID.test(id) ? await store.find(id) : null
      if (code === null || !isSameHash(hashOf('device', `${id} ${secret}`), code.secretHash)) {
        return { state: 'unknown' }
      }
      const { request } = open(id, code.request) as SealedRequest
      if (request.clientId !== clientId || (request.api !== '' && request.api !== api)) return { state: 'unknown' }
      if (code.isExpired) return { state: 'expired' }
      if (code.decision === null) return { state: (await store.poll(id)) ? 'pending' : 'too fast' }
      const decision = open(id, code.decision) as Decision
      return decision === 'denied' ? { state: 'denied' } : { state: 'allowed', id, request, login: decision }
    },
    take: (id) => store.take(id),
  }
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
