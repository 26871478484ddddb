/** The trial of a target that recovers is a call that is safe to lose, if there is a choice. */

import { describe, expect, it } from 'vitest'
import { openFailing, openServing, openTargets } from '../../fixtures/target-backends.ts'

const TRIAL = { mode: 'trial', retryAtMs: 0 } as const

describe('a target that recovers, beside one that is healthy', () => {
  it('fails no POST, and has a GET as its trial', async () => {
    const [bad, good] = [await openFailing('reset'), await openServing()]
    const { gateway, send, backends, healthOf } = await openTargets([bad, good])
    backends[0]!.gate.set(TRIAL)
    for (let count = 0; count < 10; count++) expect(await send('POST', 'hello')).toContain('200 OK')
    expect([bad.received, healthOf()]).toEqual([[], ['nothing', '10 good, 0 failed']])
    for (let count = 0; count < 3; count++) expect(await send('GET')).toContain('200 OK')
    expect(bad.received.map((request) => request.split(' ')[0])).toEqual(['GET'])
    expect(healthOf()).toEqual(['0 good, 1 failed', '3 good, 0 failed'])
    expect(gateway.records.every(({ outcome }) => outcome === 'served')).toBe(true)
  })

  it.each(['PUT', 'DELETE'])('has a %s as its trial', async (method) => {
    const [bad, good] = [await openFailing('reset'), await openServing()]
    const { send, backends } = await openTargets([bad, good])
    backends[0]!.gate.set(TRIAL)
    const body = method === 'PUT' ? 'hello' : null
    for (let count = 0; count < 3; count++) expect(await send(method, body)).toContain('200 OK')
    expect(bad.received).toHaveLength(1)
  })
})

describe('a target that recovers, without another one that is open', () => {
  it('has a POST as its trial, and answers 503 to the others', async () => {
    const [recovering, shut] = [await openServing(), await openServing()]
    const { send, backends } = await openTargets([recovering, shut])
    backends[0]!.gate.set(TRIAL)
    backends[1]!.gate.set({ mode: 'shut', retryAtMs: Date.now() + 60_000 })
    const answers = await Promise.all([send('POST', 'one'), send('POST', 'two'), send('POST', 'three')])
    expect(answers.map((answer) => answer.slice(9, 12)).toSorted()).toEqual(['200', '503', '503'])
    expect([recovering.received.length, shut.received]).toEqual([1, []])
  })

  it('has a POST as its trial if it is the only target', async () => {
    const only = await openServing()
    const { send, backends } = await openTargets([only])
    backends[0]!.gate.set(TRIAL)
    expect(await send('POST', 'hello')).toContain('200 OK')
    expect(only.received).toHaveLength(1)
  })
})
