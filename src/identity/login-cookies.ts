/**
 * The two cookies of a login: a random name of the browser, which seals are bound to, and the mark of a
 * browser in which somebody has logged in.
 *
 * Neither is a session: with both in hand one still has to know the password. Over https they carry the
 * `__Host-` prefix, so that no neighbouring site can plant them.
 */

import type { Clock } from '../runtime/clock.ts'
import type { Vault } from '../runtime/vault.ts'
import { createSeals } from './sealed-transaction.ts'

export interface LoginCookies {
  /** The browser's name, and the header that gives it one where it has none. */
  browserOf(cookie: string | undefined): {
    readonly browser: string
    readonly headers: Readonly<Record<string, string>>
  }
  known(cookie: string | undefined): string | null
  /** The header that marks the browser as one in which this person has logged in. */
  mark(person: string): Readonly<Record<string, string>>
  /** A key for this person in this browser; null where he has not logged in here before. */
  deviceOf(cookie: string | undefined, person: string): string | null
}

export interface LoginCookiesOptions {
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly randomBytes: (size: number) => Buffer
  readonly gatewayUrl: string
}

const DEVICE_DAYS = 90
const DAY_SECONDS = 86_400
const BROWSER = /^[A-Za-z0-9_-]{43}$/

export function createLoginCookies({ vault, clock, randomBytes, gatewayUrl }: LoginCookiesOptions): LoginCookies {
  const isSecure = gatewayUrl.startsWith('https:')
  const prefix = isSecure ? '__Host-' : ''
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const lifetimeMs = DEVICE_DAYS * DAY_SECONDS * 1_000
  const marks = createSeals<{ readonly device: string }>({ vault, clock, stage: 'device', lifetimeMs })

  function known(cookie: string | undefined): string | null {
    const browser = readCookie(cookie, `${prefix}tollgate-browser`)
    return browser !== null && BROWSER.test(browser) ? browser : null
  }

  return {
    known,
    browserOf(cookie) {
      const before = known(cookie)
      if (before !== null) return { browser: before, headers: {} }
      const browser = randomBytes(32).toString('base64url')
      // It ends with the browser's session.
      return { browser, headers: { 'Set-Cookie': `${prefix}tollgate-browser=${browser}; ${attributes}` } }
    },
    mark(person) {
      const text = marks.seal({ device: randomBytes(16).toString('base64url') }, person)
      const age = `Max-Age=${DEVICE_DAYS * DAY_SECONDS}`
      return { 'Set-Cookie': `${prefix}tollgate-device=${text}; ${age}; ${attributes}` }
    },
    deviceOf(cookie, person) {
      const text = readCookie(cookie, `${prefix}tollgate-device`)
      return text === null ? null : (marks.open(text, person)?.device ?? null)
    },
  }
}

function readCookie(cookie: string | undefined, name: string): string | null {
  for (const pair of (cookie ?? '').split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return null
}
