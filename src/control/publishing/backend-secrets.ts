/**
 * The secrets of backends: the private key of a client certificate, and the values of headers.
 *
 * They are encrypted when a revision is staged, and decrypted last, on the way to the gateway threads. Everything between (registry,
 * copies of it, requests to other nodes) has ciphertexts only. A ciphertext is bound to its API and its field.
 *
 * A secret that a request leaves out is taken from an earlier revision, but only if its backend has all origins of the new one, and
 * is verified by the same authorities. Otherwise a person who may stage revisions could send the secret to a host of their own.
 */

import { invalidAt } from '../command/commands.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import { originsOf } from '../../boundary/plan/backend-targets.ts'
import { comparedName, refuseHeaderName } from '../../boundary/plan/header-names.ts'
import type { BackendPlan, BackendTls } from '../../boundary/plan/route-plan.ts'
import type { HeaderField } from '../../boundary/plan/transform-plan.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import { checkTls } from './backend-tls.ts'

export interface TlsInput {
  readonly certificate?: string
  readonly key?: string
  readonly ca?: string
}

export interface SecretHeaderInput {
  readonly name: string
  readonly value?: string
}

/** The part of a backend in a request that has secrets. */
export interface SecretsInput {
  readonly tls?: TlsInput
  readonly secretHeaders?: readonly SecretHeaderInput[]
}

export type BackendSecrets = Pick<BackendPlan, 'tls' | 'secretHeaders'>

type SealedBackend = Pick<BackendPlan, 'origin' | 'targets' | 'tls' | 'secretHeaders'>

export interface SealOptions {
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly tenant: string
  readonly api: string
  readonly nowMs: number
  /** Origins of the new backend. */
  readonly origins: readonly string[]
  /** Authorities of the new backend. */
  readonly ca: string | undefined
  /** Earlier backends of the API, whose secrets a request may leave out; the first one that has a secret counts. */
  readonly earlier: readonly SealedBackend[]
}

export interface Owner {
  readonly tenant: string
  readonly api: string
}

const SEND_AGAIN =
  'The backend has another scheme, host, port or `ca` than the stored value was given for: send the value again.'

/** Stored secrets that this service cannot decrypt: its master key is another one. */
export class SecretsUnreadable extends Problem {
  constructor(api: string, cause: unknown) {
    super(
      'state_conflict',
      `The stored secrets of the backend of ${api} cannot be decrypted. Stage a revision with new ones.`,
      { cause, extensions: { state: 'unreadable', allowed: ['stage'] } },
    )
  }
}

/** Returns what is stored of a backend's secrets. Throws a problem that names the first fault. */
export function sealSecrets({ tls, secretHeaders }: SecretsInput, options: SealOptions): BackendSecrets {
  const headers = (secretHeaders ?? []).map((header, index) => sealHeader(header, index, options))
  const sealedTls = tls === undefined ? null : sealTls(tls, options)
  return { ...(sealedTls && { tls: sealedTls }), ...(headers.length > 0 && { secretHeaders: headers }) }
}

/** Throws a problem for what no backend may have, whatever is stored. */
export function checkSecrets(
  { tls, secretHeaders = [] }: SecretsInput,
  origins: readonly string[],
  nowMs: number,
): void {
  const names = new Set<string>()
  for (const [index, { name }] of secretHeaders.entries()) {
    const pointer = `/backend/secretHeaders/${index}/name`
    const refused = refuseHeaderName(name, 'secret')
    if (refused !== null) throw invalidAt(pointer, refused)
    if (names.has(comparedName(name))) throw invalidAt(pointer, 'The name occurs twice; `_` counts as `-`.')
    names.add(comparedName(name))
  }
  if (tls === undefined) return
  if (!origins.every((origin) => origin.startsWith('https:')))
    throw invalidAt('/backend/tls', 'Only a backend whose URLs are all https has TLS.')
  checkTls(tls, nowMs)
}

/** Returns a backend with its secrets decrypted. Throws `SecretsUnreadable`. */
export function openSecrets<Backend extends SecretsInput>(
  vault: Pick<Vault, 'decrypt'>,
  owner: Owner,
  backend: Backend,
): Backend {
  try {
    return convertSecrets(backend, owner, vault.decrypt)
  } catch (cause) {
    throw new SecretsUnreadable(owner.api, cause)
  }
}

/** Encrypts or decrypts the secrets that a backend has. */
export function convertSecrets<Backend extends SecretsInput>(
  backend: Backend,
  owner: Owner,
  convert: (text: string, context: string) => string,
): Backend {
  const { tls, secretHeaders } = backend
  return {
    ...backend,
    ...(tls?.key !== undefined && { tls: { ...tls, key: convert(tls.key, keyContext(owner)) } }),
    ...(secretHeaders && {
      secretHeaders: secretHeaders.map((header) => {
        const { name, value } = header
        return value === undefined ? header : { name, value: convert(value, headerContext(owner, name)) }
      }),
    }),
  }
}

function sealHeader({ name, value }: SecretHeaderInput, index: number, options: SealOptions): HeaderField {
  if (value !== undefined) return { name, value: options.vault.encrypt(value, headerContext(options, name)) }
  const pointer = `/backend/secretHeaders/${index}/value`
  const stored = keptFrom(options, pointer, ({ secretHeaders = [] }) => {
    return secretHeaders.find((each) => comparedName(each.name) === comparedName(name))?.value
  })
  const kept = { name, value: stored }
  // A value that cannot be decrypted is refused now, not when the revision is activated.
  openSecrets(options.vault, options, { secretHeaders: [kept] })
  return kept
}

function sealTls(tls: TlsInput, options: SealOptions): BackendTls {
  const { certificate, key, ca } = tls
  const rest = { ...(certificate !== undefined && { certificate }), ...(ca !== undefined && { ca }) }
  if (certificate === undefined) return rest
  if (key !== undefined) return { ...rest, key: options.vault.encrypt(key, keyContext(options)) }
  const stored = keptFrom(options, '/backend/tls/key', (earlier) => earlier.tls?.key)
  const { key: opened } = openSecrets(options.vault, options, { tls: { key: stored } }).tls
  checkTls({ ...tls, ...(opened !== undefined && { key: opened }) }, options.nowMs)
  return { ...rest, key: stored }
}

/** Returns the ciphertext of an earlier backend with all origins and the authorities of the new one. */
function keptFrom(
  { earlier, origins, ca }: SealOptions,
  pointer: string,
  find: (backend: SealedBackend) => string | undefined,
): string {
  const having = earlier.filter((backend) => find(backend) !== undefined)
  if (having.length === 0) throw invalidAt(pointer, 'No value is stored: send one.')
  const kept = having.find((backend) => {
    const known = originsOf(backend)
    return origins.every((origin) => known.includes(origin)) && backend.tls?.ca === ca
  })
  if (kept === undefined) throw invalidAt(pointer, SEND_AGAIN)
  return find(kept)!
}

function headerContext({ tenant, api }: Owner, name: string): string {
  return `backend header ${JSON.stringify([tenant, api, comparedName(name)])}`
}

function keyContext({ tenant, api }: Owner): string {
  return `backend key ${JSON.stringify([tenant, api])}`
}
