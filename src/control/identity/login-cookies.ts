/**
 * The two cookies of a sign-in: a random id of the browser, which binds the sealed forms to it, and a mark of a browser in
 * which an account has signed in.
 *
 * Neither is a session: both together do not replace the password. Over https they have the `__Host-` prefix, so that a
 * sibling domain cannot set them.
 */

import { DAY_MS, DAY_S } from '../../foundation/domain/calendar.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import { createSeals } from './sealed-transaction.ts'

export interface LoginCookies {
  /** Returns the id of the browser, and the header that sets a new one if it has none. */
  ensureBrowser(cookie: string | undefined): {
    readonly browser: string
    readonly headers: Readonly<Record<string, string>>
  }
  /** Returns the id of the browser, or null if it has none. */
  readBrowser(cookie: string | undefined): string | null
  /** Returns the header that marks the browser as one in which this account has signed in. */
  markDevice(account: string): Readonly<Record<string, string>>
  /** Returns a key for this account in this browser, or null if it has not signed in here before. */
  deviceOf(cookie: string | undefined, account: string): string | null
}

export interface LoginCookiesOptions {
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly randomBytes: (size: number) => Buffer
  readonly gatewayUrl: string
}

const DEVICE_DAYS = 90
const BROWSER = /^[A-Za-z0-9_-]{43}$/

export function createLoginCookies({ vault, clock, randomBytes, gatewayUrl }: LoginCookiesOptions): LoginCookies {
  const isSecure = gatewayUrl.startsWith('https:')
  const prefix = isSecure ? '__Host-' : ''
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const lifetimeMs = DEVICE_DAYS * DAY_MS
  const marks = createSeals<{ readonly device: string }>({ vault, clock, stage: 'device', lifetimeMs })

  function readBrowser(cookie: string | undefined): string | null {
    const browser = readCookie(cookie, `${prefix}tollgate-browser`)
    return browser !== null && BROWSER.test(browser) ? browser : null
  }

  return {
    readBrowser,
    ensureBrowser(cookie) {
      const before = readBrowser(cookie)
      if (before !== null) return { browser: before, headers: {} }
      const browser = randomBytes(32).toString('base64url')
      // Without Max-Age, so the cookie ends with the browser's session.
      return { browser, headers: { 'Set-Cookie': `${prefix}tollgate-browser=${browser}; ${attributes}` } }
    },
    markDevice(account) {
      const text = marks.seal({ device: randomBytes(16).toString('base64url') }, account)
      const age = `Max-Age=${DEVICE_DAYS * DAY_S}`
      return { 'Set-Cookie': `${prefix}tollgate-device=${text}; ${age}; ${attributes}` }
    },
    deviceOf(cookie, account) {
      const text = readCookie(cookie, `${prefix}tollgate-device`)
      return text === null ? null : (marks.open(text, account)?.device ?? null)
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
