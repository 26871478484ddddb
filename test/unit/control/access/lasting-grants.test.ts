import { describe, expect, it } from 'vitest'
import { createLastingResolve } from '../../../../src/control/access/lasting-grants.ts'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const NAME = { kind: 'key', hash: 'h' } as const
const STORED = { credential: 'stored' } as Grant
const COPIED = { credential: 'copied' } as Grant
const AWAY = new Error('the registry is away')

function start(resolve: () => Promise<Grant | null>, copied: Grant | null = COPIED) {
  const clock = createFakeClock(0)
  const copy = { isCurrent: true }
  const isCopyCurrent = (): boolean => copy.isCurrent
  const lasting = createLastingResolve({ resolve, resolveCopied: async () => copied, isCopyCurrent, clock })
  return { clock, copy, resolve: () => lasting(NAME) }
}

describe('The look-up of a credential', () => {
  it('asks the registry while that answers', async () => {
    expect(await start(async () => STORED).resolve()).toBe(STORED)
    expect(await start(async () => null).resolve()).toBeNull()
  })

  it('asks the copy if the registry is away', async () => {
    expect(await start(() => Promise.reject(AWAY)).resolve()).toBe(COPIED)
  })

  it('asks the copy if the registry does not answer soon', async () => {
    const { clock, resolve } = start(() => new Promise(() => {}))
    const found = resolve()
    await clock.advance(500)
    expect(await found).toBe(COPIED)
  })

  it('fails rather than asking a copy that lacks changes', async () => {
    const { copy, resolve } = start(() => Promise.reject(AWAY))
    copy.isCurrent = false
    await expect(resolve()).rejects.toBe(AWAY)
  })

  it('does not take a credential for unknown because the copy lacks it', async () => {
    await expect(start(() => Promise.reject(AWAY), null).resolve()).rejects.toBe(AWAY)
    const { promise, resolve: answer } = Promise.withResolvers<Grant | null>()
    const slow = start(() => promise, null)
    const found = slow.resolve()
    await slow.clock.advance(500)
    answer(STORED)
    expect(await found).toBe(STORED)
  })
})
