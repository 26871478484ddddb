/** Readers of the values of settings: each takes the text of a setting, and says in words what it accepts. */

import { isIP } from 'node:net'
import { toOrigin } from '../domain/origin.ts'
import { parseNetwork } from '../runtime/client-address.ts'

/** The value, or a phrase that describes what the setting takes. */
export type Read<T> = (text: string) => { readonly value: T } | { readonly takes: string }

export const NODE_NAME_MAX = 63

export function whole(min: number, max: number, unit = ''): Read<number> {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN
    return value >= min && value <= max ? { value } : { takes: `a whole number${unit} from ${min} to ${max}` }
  }
}

export const port: Read<number> = (text) => {
  const read = whole(0, 65_535)(text)
  return 'value' in read ? read : { takes: 'a port from 0 (any free one) to 65535' }
}

export const host: Read<string> = (text) =>
  isIP(text) !== 0 || text === 'localhost' ? { value: text } : { takes: 'an IP address to bind, or localhost' }

export const tenant: Read<string> = (text) =>
  /^[a-z0-9][a-z0-9_-]{0,63}$/.test(text) ? { value: text } : { takes: 'up to 64 of a-z, 0-9, - and _' }

export const address: Read<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.pathname.includes('@')
  ) {
    return { takes: 'an http or https address' }
  }
  return { value: text.replace(/\/+$/, '') }
}

/** An address that tokens, links and messages show, so that it must have no password. */
export const publicAddress: Read<string> = (text) => {
  const read = address(text)
  if ('takes' in read) return read
  const { username, password } = new URL(read.value)
  return username === '' && password === '' ? read : { takes: 'an http or https address without user and password' }
}

/** The path of a file or folder; a key in PEM is the content of one. */
export const path: Read<string> = (value) =>
  value.includes('-----BEGIN') || /[\r\n]/.test(value)
    ? { takes: 'a path, not the content of a file' }
    : text(1, 4096)(value)

/** The URL of a server, which may contain a password. Without `//`, or with a raw slash, the password would be a part of the path. */
export function server(...protocols: readonly string[]): Read<string> {
  return (text) =>
    URL.canParse(text) &&
    protocols.some((protocol) => text.toLowerCase().startsWith(`${protocol}://`)) &&
    !new URL(text).pathname.includes('@')
      ? { value: text }
      : { takes: `a URL of the form ${protocols[0]}://user:password@host:port/...` }
}

export const nodeName: Read<string> = (text) =>
  /^[\w.-]{1,63}$/.test(text) ? { value: text } : { takes: `up to ${NODE_NAME_MAX} of a-z, A-Z, 0-9, ., - and _` }

/** The name of a cluster of ClickHouse, which is part of statements. */
export const cluster: Read<string> = (text) =>
  /^[\w.-]{1,100}$/.test(text) ? { value: text } : { takes: 'up to 100 of a-z, A-Z, 0-9, ., - and _' }

export const token: Read<string> = (text) =>
  /^[\x21-\x7e]{16,1024}$/.test(text) ? { value: text } : { takes: '16 to 1024 visible ASCII characters' }

export function text(min: number, max: number): Read<string> {
  return (value) =>
    value.length >= min && value.length <= max && !value.includes('\0')
      ? { value }
      : { takes: `${min} to ${max} characters` }
}

export function oneOf<T extends string>(...values: readonly T[]): Read<T> {
  return (text) => {
    const value = values.find((known) => known === text)
    return value === undefined ? { takes: `one of ${values.join(', ')}` } : { value }
  }
}

export function listOf<T extends string>(...values: readonly T[]): Read<readonly T[]> {
  return (text) => {
    const items = text.split(',').map((item) => values.find((known) => known === item.trim()))
    return items.includes(undefined)
      ? { takes: `a list of ${values.join(', ')}` }
      : { value: items.filter((item) => item !== undefined) }
  }
}

const NETWORKS_MAX = 64

/** Networks in CIDR notation, and single addresses. */
export const networks: Read<readonly string[]> = (text) => {
  const items = text.split(',').map((item) => item.trim())
  return items.length <= NETWORKS_MAX && items.every((item) => parseNetwork(item) !== null)
    ? { value: items }
    : {
        takes: `a list of up to ${NETWORKS_MAX} networks or addresses, such as 10.0.0.0/8,fd00::1, and not all addresses`,
      }
}

const ORIGINS_MAX = 100

/** Origins of web pages, in the form in which browsers send them. */
export const origins: Read<readonly string[]> = (text) => {
  const items = text.split(',').map((item) => toOrigin(item.trim()))
  const found = items.filter((item) => item !== null)
  return found.length < items.length || found.length > ORIGINS_MAX
    ? { takes: `a list of up to ${ORIGINS_MAX} origins without paths and wildcards, such as https://app.example` }
    : { value: [...new Set(found)] }
}
