/** A call whose target fails goes to another one, if that is safe, and is recorded once. */

import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FLAG_FORWARDED } from '../../../src/storage/spool/call-record.ts'
import { openMcpClient } from '../../fixtures/mcp-client.ts'
import {
  FAULT_NAMES,
  openFailing,
  openRefusing,
  openServing,
  openTargets,
  openUnreachable,
  toRequest,
  toStreamed,
  UNSENT,
  type Fault,
} from '../../fixtures/target-backends.ts'
import { openRawBackend } from '../../fixtures/test-backend.ts'

const served = { outcome: 'served', status: 200 }

/** A time limit that only a target that hangs reaches. */
const timeoutOf = (fault: Fault): { timeoutMs?: number } => (fault === 'hang' ? { timeoutMs: 200 } : {})

describe('a call whose target has failed before it received anything', () => {
  it.each(UNSENT.flatMap((how) => (['GET', 'PUT', 'POST'] as const).map((method) => [method, how] as const)))(
    'is served by another target: %s, if the first one %s',
    async (method, how) => {
      const { target, connect } = await openUnreachable(how)
      const good = await openServing()
      const backend = { origin: target.origin, timeoutMs: 2_000, ...(how === 'does not accept' && { timeoutMs: 100 }) }
      const { gateway, send, healthOf, isFree } = await openTargets([target, good], {
        backend,
        ...(connect !== undefined && { connect }),
      })
      const body = method === 'GET' ? null : 'hello'
      expect(await send(method, body)).toContain(`<${method} ${body ?? ''}>`)
      expect(good.received).toEqual([`${method} /open?x=1 ${body ?? ''}`])
      expect(gateway.records).toMatchObject([served])
      expect(healthOf()).toEqual(['0 good, 1 failed', '1 good, 0 failed'])
      expect([isFree(), gateway.inFlight(), gateway.counts.get('backend_retried')]).toEqual([true, 0, 1])
    },
  )

  it('is served with its whole body, though that is streamed', async () => {
    const good = await openServing()
    const { gateway, healthOf } = await openTargets([await openRefusing(), good])
    const body = 'x'.repeat(200_000)
    expect(await gateway.raw(toStreamed('POST', body))).toContain(`<POST ${body}>`)
    expect(good.received).toHaveLength(1)
    expect(gateway.records).toMatchObject([served])
    expect(healthOf()).toEqual(['0 good, 1 failed', '1 good, 0 failed'])
  })

  it('goes to three targets at most', async () => {
    const refusing = await Promise.all(Array.from({ length: 3 }, openRefusing))
    const good = await openServing()
    const { gateway, send, healthOf, isFree } = await openTargets([...refusing, good])
    expect(await send('GET')).toContain('HTTP/1.1 502')
    expect(gateway.records).toMatchObject([{ outcome: 'upstream_refused', status: 502 }])
    expect([healthOf(), good.received, isFree()]).toEqual([
      ['0 good, 1 failed', '0 good, 1 failed', '0 good, 1 failed', 'nothing'],
      [],
      true,
    ])
  })

  it('goes to no target twice, if all have failed', async () => {
    const { send, healthOf } = await openTargets([await openRefusing(), await openRefusing()])
    expect(await send('GET')).toContain('HTTP/1.1 502')
    expect(healthOf()).toEqual(['0 good, 1 failed', '0 good, 1 failed'])
  })

  it('reaches the target again once it listens', async () => {
    const target = await openRefusing()
    const good = await openServing()
    const { send, gateway, healthOf } = await openTargets([target, good])
    for (let count = 0; count < 4; count++) expect(await send('GET')).toContain('200 OK')
    expect(healthOf()).toEqual(['0 good, 2 failed', '4 good, 0 failed'])
    const server = createServer((_, response) => response.end('back'))
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(Number(new URL(target.origin).port), '127.0.0.1', resolve))
    const answers = [await send('POST', 'x'), await send('POST', 'x')]
    expect(answers.filter((answer) => answer.includes('back'))).toHaveLength(1)
    expect(gateway.records.every(({ outcome }) => outcome === 'served')).toBe(true)
  })

  it('is served while the name of a target disappears from DNS and comes back', async () => {
    const [one, other] = [await openServing('one'), await openServing('other')]
    const { port } = new URL(one.origin)
    let isKnown = true
    const named = { ...one, origin: `http://one.test:${port}` }
    const { send } = await openTargets([named, other], {
      connect: (_, base) => ({
        ...base,
        lookup: (_name, options, callback) => {
          if (!isKnown) return callback(Object.assign(new Error('gone'), { code: 'ENOTFOUND' }), '')
          if (options.all === true) callback(null, [{ address: '127.0.0.1', family: 4 }])
          else callback(null, '127.0.0.1', 4)
        },
      }),
      backend: { origin: named.origin },
    })
    const both = async (): Promise<readonly (string | undefined)[]> => {
      const answers = [await send('POST', 'x'), await send('POST', 'x')]
      return answers.map((answer) => /x-target: (\w+)/.exec(answer)?.[1]).toSorted()
    }
    isKnown = false
    expect(await both()).toEqual(['other', 'other'])
    isKnown = true
    expect(await both()).toEqual(['one', 'other'])
  })
})

describe('a call whose target has failed after it received the request', () => {
  it.each(
    FAULT_NAMES.flatMap((fault) => (['GET', 'PUT', 'DELETE'] as const).map((method) => [method, fault] as const)),
  )('is served by another target if it is idempotent: %s, after %s', async (method, fault) => {
    const [bad, good] = [await openFailing(fault), await openServing()]
    const { gateway, send, healthOf, isFree } = await openTargets([bad, good], {
      backend: { origin: bad.origin, ...timeoutOf(fault) },
    })
    const body = method === 'PUT' ? 'hello' : null
    expect(await send(method, body)).toContain(`<${method} ${body ?? ''}>`)
    expect([bad.received.length, good.received.length]).toEqual([1, 1])
    expect(gateway.records).toMatchObject([served])
    expect(healthOf()).toEqual(['0 good, 1 failed', '1 good, 0 failed'])
    expect([isFree(), gateway.inFlight()]).toEqual([true, 0])
  })

  it('goes to three targets at most, and to none of them twice', async () => {
    const failing = [await openFailing('reset'), await openFailing('reset'), await openFailing('reset')]
    const good = await openServing()
    const { gateway, send } = await openTargets([...failing, good])
    expect(await send('GET')).toContain('HTTP/1.1 502')
    expect([...failing, good].map(({ received }) => received.length)).toEqual([1, 1, 1, 0])
    expect(gateway.records).toHaveLength(1)
  })

  it('goes to both of two targets once, if both reset it', async () => {
    const failing = [await openFailing('reset'), await openFailing('reset')]
    const { send } = await openTargets(failing)
    expect(await send('GET')).toContain('HTTP/1.1 502')
    expect(failing.map(({ received }) => received.length)).toEqual([1, 1])
  })

  it('goes to one further target if one that has it is late', async () => {
    const hanging = [await openFailing('hang'), await openFailing('hang')]
    const good = await openServing()
    const { gateway, send, isFree } = await openTargets([...hanging, good], {
      backend: { origin: hanging[0]!.origin, ...timeoutOf('hang') },
    })
    expect(await send('GET')).toContain('HTTP/1.1 504')
    expect([...hanging, good].map(({ received }) => received.length)).toEqual([1, 1, 0])
    expect([isFree(), gateway.inFlight()]).toEqual([true, 0])
  })

  it.each(FAULT_NAMES)('is never sent twice if it is a POST: after %s', async (fault) => {
    const [bad, good] = [await openFailing(fault), await openServing()]
    const { gateway, send, healthOf, isFree } = await openTargets([bad, good], {
      backend: { origin: bad.origin, ...timeoutOf(fault) },
    })
    expect(await send('POST', 'hello')).toContain(fault === 'hang' ? 'HTTP/1.1 504' : 'HTTP/1.1 502')
    expect([bad.received.length, good.received]).toEqual([1, []])
    expect(gateway.records).toHaveLength(1)
    expect(healthOf()).toEqual(['0 good, 1 failed', 'nothing'])
    expect([isFree(), gateway.inFlight()]).toEqual([true, 0])
  })

  it('is never sent twice if its body was streamed', async () => {
    const [bad, good] = [await openFailing('reset'), await openServing()]
    const { gateway, healthOf } = await openTargets([bad, good])
    expect(await gateway.raw(toStreamed('PUT', 'x'.repeat(100_000)))).toContain('HTTP/1.1 502')
    expect([good.received, healthOf()]).toEqual([[], ['0 good, 1 failed', 'nothing']])
  })

  it.each([
    ['breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this'],
    ['has an ambiguous length', 'HTTP/1.1 200 OK\r\nContent-Length: 02\r\n\r\nok'],
  ])('is not sent again if the response has begun and %s', async (_, response) => {
    const good = await openServing()
    const origin = await openRawBackend((socket) => socket.on('data', () => socket.end(response, 'latin1')))
    const { gateway, send, healthOf } = await openTargets([{ origin, received: [] }, good])
    await send('GET')
    await gateway.recorded(1)
    expect(gateway.records).toMatchObject([{ outcome: 'upstream_broken' }])
    expect([good.received, healthOf()]).toEqual([[], ['0 good, 1 failed', 'nothing']])
  })

  it('is served by the same target, sent once more, if no other one is open', async () => {
    let requests = 0
    const origin = await openRawBackend((socket) =>
      socket.on('data', () => {
        if (++requests === 1) socket.resetAndDestroy()
        else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      }),
    )
    const { send, backends, healthOf } = await openTargets([{ origin, received: [] }, await openServing()])
    backends[1]!.gate.set({ mode: 'shut', retryAtMs: Date.now() + 60_000 })
    expect(await send('GET')).toContain('200 OK')
    expect([requests, healthOf()]).toEqual([2, ['1 good, 0 failed', 'nothing']])
  })

  it('leaves nothing behind if its client has gone during the second attempt', async () => {
    const [bad, slow] = [await openFailing('reset'), await openFailing('hang')]
    const { gateway, isFree, healthOf } = await openTargets([bad, slow])
    const socket = await gateway.open()
    socket.write(toRequest('GET'))
    await expect.poll(() => slow.received.length).toBe(1)
    socket.destroy()
    await gateway.recorded(1)
    expect(gateway.records).toMatchObject([{ outcome: 'client_aborted' }])
    expect([isFree(), gateway.inFlight(), healthOf()]).toEqual([true, 0, ['0 good, 1 failed', 'nothing']])
  })
})

describe('a backend with several targets', () => {
  it('gets its calls by weight, each at the base path of its target', async () => {
    const [one, other] = [await openServing(), await openServing()]
    const { send } = await openTargets([one, other], {
      backend: {
        origin: one.origin,
        targets: [
          { origin: one.origin, basePath: '/base', weight: 3 },
          { origin: other.origin, basePath: '' },
        ],
      },
    })
    for (let count = 0; count < 8; count++) await send('GET')
    expect(one.received).toEqual(Array.from({ length: 6 }, () => 'GET /base/open?x=1 '))
    expect(other.received).toEqual(Array.from({ length: 2 }, () => 'GET /open?x=1 '))
  })

  it('answers 503 with the shortest Retry-After only if all targets are shut', async () => {
    const good = await openServing()
    const { gateway, send, backends } = await openTargets([good, await openServing(), await openServing()])
    const shut = (index: number, seconds: number): void =>
      backends[index]!.gate.set({ mode: 'shut', retryAtMs: Date.now() + seconds * 1_000 })
    shut(1, 3_000)
    shut(2, 9_000)
    expect(await send('GET')).toContain('200 OK')
    shut(0, 6_000)
    const answer = await send('GET')
    expect(answer).toContain('HTTP/1.1 503')
    expect(answer).toMatch(/Retry-After: (3000|2999)\r\n/)
    expect(gateway.records.at(-1)).toMatchObject({ outcome: 'upstream_unhealthy' })
    expect(good.received).toHaveLength(1)
  })

  it('uses a target with a free connection before one without', async () => {
    const [slow, good] = [await openFailing('hang'), await openServing()]
    const { gateway, send } = await openTargets([slow, good], { backend: { origin: slow.origin, connections: 2 } })
    const held = await gateway.open()
    held.write(toRequest('GET'))
    await expect.poll(() => slow.received.length).toBe(1)
    for (let count = 0; count < 5; count++) expect(await send('POST', 'x')).toContain('200 OK')
    expect([slow.received.length, good.received.length]).toEqual([1, 5])
  })

  it('serves the calls of tools through any target', async () => {
    const [bad, good] = [await openFailing('reset'), await openServing()]
    const { gateway, healthOf } = await openTargets([bad, good], { root: { 'x-tollgate-mcp': true } })
    const url = `http://127.0.0.1:${gateway.port}/things-v1/mcp`
    const client = await openMcpClient(url, 'key-s', '2026-07-28')
    expect((await client.callTool({ name: 'read', arguments: {} })).isError).not.toBe(true)
    expect([bad.received.length, good.received]).toEqual([1, ['GET /open ']])
    expect(healthOf()).toEqual(['0 good, 1 failed', '1 good, 0 failed'])
    expect(gateway.records.filter(({ flags }) => (flags & FLAG_FORWARDED) !== 0)).toHaveLength(1)
  })
})
