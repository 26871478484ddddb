/**
 * The state of a sign-in between its pages, encrypted into the form, so that the service stores none.
 *
 * A sealed text is valid for one stage and for the browser that received it: the hash of the browser's random cookie is
 * part of the encryption context. A text for the sign-in page does not open at the consent page, and a text of one browser
 * does not open in another. This prevents forged requests (CSRF).
 */

import { createHash } from 'node:crypto'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'

export interface Seals<Content> {
  seal(content: Content, browser: string): string
  /** Returns null if the text was changed, has expired, or belongs to another stage or browser. */
  open(text: string, browser: string): Content | null
}

export interface SealsOptions {
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly stage: string
  readonly lifetimeMs: number
}

interface Sealed<Content> {
  readonly untilMs: number
  readonly content: Content
}

const TEXT_LENGTH_MAX = 12_288

export function createSeals<Content>({ vault, clock, stage, lifetimeMs }: SealsOptions): Seals<Content> {
  const contextOf = (browser: string): string =>
    `login ${stage} ${createHash('sha256').update(browser).digest('base64url')}`

  return {
    seal(content, browser) {
      const sealed: Sealed<Content> = { untilMs: clock.nowMs() + lifetimeMs, content }
      return vault.encrypt(JSON.stringify(sealed), contextOf(browser))
    },
    open(text, browser) {
      if (text.length > TEXT_LENGTH_MAX) return null
      try {
        const sealed = JSON.parse(vault.decrypt(text, contextOf(browser))) as Sealed<Content>
        return sealed.untilMs > clock.nowMs() ? sealed.content : null
      } catch {
        return null
      }
    },
  }
}
