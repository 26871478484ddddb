/** The secrets of a backend in a folder: values of `secretHeaders` and `tls.key`, which the service never returns. */

import { isFields, type Fields } from './resource.ts'
import { isUnset } from './variables.ts'

/** Returns a backend without its secrets; header names in lower case. */
export function withoutBackendSecrets(backend: Fields): Fields {
  return mapSecrets(
    backend,
    () => undefined,
    (name) => name.toLowerCase(),
  )
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
