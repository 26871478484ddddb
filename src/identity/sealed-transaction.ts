/**
 * What a login knows of itself between its pages: it travels with the browser, sealed, and the service
 * keeps nothing.
 *
 * A seal holds for one stage and for the browser that was given it (a random cookie of which only the
 * hash goes in): what was sealed for the login page is nothing at the consent page, and what one
 * browser was given is nothing in another's form. That is what forged requests fail at.
 */

import { createHash } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import type { Vault } from '../runtime/vault.ts'

export interface Seals<Content> {
  seal(content: Content, browser: string): string
  /** Null where it was changed, is of another stage or browser, or is too old. */
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
