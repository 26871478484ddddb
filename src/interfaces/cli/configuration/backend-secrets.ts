/** The secrets of a backend in a folder: values of `secretHeaders` and `tls.key`, which the service never returns. */

import { isFields, type Fields } from './resource.ts'
import { isUnset } from './variables.ts'

const SECRETS: ReadonlySet<string> = new Set(['value', 'key'])
const HEADER_MEMBERS: ReadonlySet<string> = new Set(['name', 'value'])
const TLS_MEMBERS: ReadonlySet<string> = new Set(['certificate', 'key', 'ca'])

/** Returns a backend without its secrets, whatever its shape; header names in lower case. */
export function withoutBackendSecrets(backend: Fields): Fields {
  const lower = mapSecrets(
    backend,
    () => undefined,
    (name) => name.toLowerCase(),
  )
  return withoutMembers(lower) as Fields
}

function withoutMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMembers)
  if (!isFields(value)) return value
  const members = Object.entries(value).filter(([name]) => !SECRETS.has(name))
  return Object.fromEntries(members.map(([name, each]) => [name, withoutMembers(each)]))
}

/** Returns a fault in the shape of the secrets, which could not be told from what may be printed. */
export function secretsFault({ tls, secretHeaders }: Fields): string | null {
  if (!isGivenAs(tls, TLS_MEMBERS)) return 'backend.tls can only have a certificate, a key and ca.'
  if (secretHeaders === undefined || secretHeaders === null) return null
  if (!Array.isArray(secretHeaders)) return 'backend.secretHeaders must be a list.'
  const odd = secretHeaders.findIndex((header: unknown) => {
    return !isFields(header) || typeof header['name'] !== 'string' || !isGivenAs(header, HEADER_MEMBERS)
  })
  return odd < 0 ? null : `backend.secretHeaders[${odd}] must have a name, and can only have a value beside it.`
}

function isGivenAs(value: unknown, members: ReadonlySet<string>): boolean {
  if (value === undefined || value === null) return true
  return isFields(value) && Object.keys(value).every((name) => members.has(name))
}

/** Returns a backend without the secrets whose variables are not set: the service keeps those that it has. */
export function withoutUnset(backend: Fields): Fields {
  return mapSecrets(backend, (value) => (isUnset(value) ? undefined : value))
}

/** Returns a backend of the service with a variable for each secret. `toVariable` gets `TLS_KEY` or `HEADER_` and a name. */
export function withVariables(backend: Fields, toVariable: (name: string) => string): Fields {
  return mapSecrets(backend, (_, name) => `\${${toVariable(name === null ? 'TLS_KEY' : `HEADER_${name}`)}}`)
}

/** `name` is that of a header, and null for the key. */
type Convert = (value: unknown, name: string | null) => unknown

function mapSecrets(backend: Fields, convert: Convert, toName: (name: string) => string = (name) => name): Fields {
  const { tls, secretHeaders, ...rest } = backend
  return {
    ...rest,
    ...(tls !== undefined && { tls: isFields(tls) ? mapKey(tls, convert) : tls }),
    ...(secretHeaders !== undefined && {
      secretHeaders: Array.isArray(secretHeaders)
        ? secretHeaders.map((header: unknown) => (isFields(header) ? mapHeader(header, convert, toName) : header))
        : secretHeaders,
    }),
  }
}

/** A certificate always has a key. */
function mapKey({ key, ...tls }: Fields, convert: Convert): Fields {
  if (tls['certificate'] === undefined && key === undefined) return tls
  const converted = convert(key, null)
  return { ...tls, ...(converted !== undefined && { key: converted }) }
}

function mapHeader(header: Fields, convert: Convert, toName: (name: string) => string): Fields {
  const { name, value, ...rest } = header
  if (typeof name !== 'string') return header
  const converted = convert(value, name)
  return { name: toName(name), ...rest, ...(converted !== undefined && { value: converted }) }
}
