import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../../src/foundation/runtime/clock.ts'
import { createLifecycle } from '../../../../src/foundation/runtime/lifecycle.ts'
import type { Log } from '../../../../src/foundation/runtime/log.ts'

function open() {
  const errors: Record<string, unknown>[] = []
  const log = { error: (about: Record<string, unknown>) => errors.push(about) } as unknown as Log
  const timers = new Set<() => void>()
  const clock: Clock = {
    nowMs: () => 0,
    after(_, task) {
      timers.add(task)
      return () => timers.delete(task)
    },
    every: () => () => {},
  }
  return { ...createLifecycle({ clock, log }), errors, timers }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('lifecycle', () => {
  it('closes components in reverse order of opening, one after another', async () => {
    const { opened, close } = open()
    const seen: string[] = []
    for (const name of ['store', 'pipeline', 'gateway']) {
      opened(name, async () => {
        seen.push(`${name} closes`)
        await settled()
        seen.push(`${name} closed`)
      })
    }
    await close()
    expect(seen).toEqual(['gateway', 'pipeline', 'store'].flatMap((name) => [`${name} closes`, `${name} closed`]))
  })

  it('continues when a component fails to close, synchronously or later, and logs its name', async () => {
    const { opened, close, errors } = open()
    const seen: string[] = []
    opened('store', () => void seen.push('store'))
    opened('later', () => Promise.reject(new Error('later')))
    opened('at once', () => {
      throw new Error('at once')
    })
    await close()
    expect(seen).toEqual(['store'])
    expect(errors.map(({ part }) => part)).toEqual(['at once', 'later'])
  })

  it('does not wait for a component that never closes, and leaves no timer', async () => {
    const { opened, close, errors, timers } = open()
    const seen: string[] = []
    opened('store', () => void seen.push('store'))
    opened('stuck', () => new Promise<void>(() => {}))
    const closing = close()
    await settled()
    expect(seen).toEqual([])
    for (const task of timers) task()
    await closing
    expect(seen).toEqual(['store'])
    expect(errors).toEqual([{ part: 'stuck' }])
    expect(timers.size).toBe(0)
  })

  it('closes everything once, and a second call waits for the end', async () => {
    const { opened, close } = open()
    let times = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    opened('store', () => {
      times++
      return promise
    })
    let isOver = false
    const both = Promise.all([close(), close()]).then(() => (isOver = true))
    await settled()
    expect(isOver).toBe(false)
    resolve()
    await both
    await close()
    expect(times).toBe(1)
  })

  it('closes components that are opened during the shutdown', async () => {
    const { opened, close } = open()
    const seen: string[] = []
    opened('store', () => void seen.push('store'))
    opened('gateway', () => opened('late', () => void seen.push('late')))
    await close()
    expect(seen).toEqual(['late', 'store'])
  })
})
