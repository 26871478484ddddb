import { describe, expect, it } from 'vitest'
import { createGate } from '../../../../src/foundation/runtime/gate.ts'

describe('Gate', () => {
  it('starts a task synchronously while it is open', () => {
    const gate = createGate()
    let hasStarted = false
    void gate.run(async () => void (hasStarted = true))
    expect(hasStarted).toBe(true)
  })

  it('is held only after all running tasks have ended, including failed ones', async () => {
    const gate = createGate()
    const events: string[] = []
    const first = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const tasks = [gate.run(() => first.promise), gate.run(() => second.promise).catch(() => events.push('failed'))]
    const held = gate.hold().then((open) => {
      events.push('held')
      return open
    })
    first.resolve()
    await tasks[0]
    events.push('first ended')
    second.reject(new Error('broken'))
    await held

    expect(events.indexOf('held')).toBeGreaterThan(events.indexOf('first ended'))
  })

  it('starts queued tasks when it is opened', async () => {
    const gate = createGate()
    const open = await gate.hold()
    let hasStarted = false
    const task = gate.run(async () => void (hasStarted = true))
    await Promise.resolve()
    expect(hasStarted).toBe(false)
    open()
    await task
    expect(hasStarted).toBe(true)
  })

  it('is held by one holder at a time, and opened by this holder only', async () => {
    const gate = createGate()
    const openFirst = await gate.hold()
    const second = gate.hold()
    openFirst()
    const openSecond = await second
    openFirst()
    let hasStarted = false
    const task = gate.run(async () => void (hasStarted = true))
    await Promise.resolve()
    expect(hasStarted).toBe(false)
    openSecond()
    await task
    expect(hasStarted).toBe(true)
  })
})
