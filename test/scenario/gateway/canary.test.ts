/** Calls of an API with a canary: which revision serves them, and what happens while they wait or the canary ends. */

import { describe, expect, it } from 'vitest'
import type { AuthenticationResult } from '../../../src/gateway/authentication/credential-refusal.ts'
import { createRefusal } from '../../../src/gateway/authentication/credential-refusal.ts'
import type { DriftWatch } from '../../../src/gateway/forwarding/drift-watch.ts'
import { get, keyed, openCanary } from '../../fixtures/test-canary.ts'
import { callerOf } from '../../fixtures/test-callers.ts'

describe('an API with a canary', () => {
  it('serves each caller by its revision', async () => {
    const { gateway } = await openCanary()
    for (let round = 0; round < 3; round++) {
      expect(await gateway.raw(keyed('/keyed', 'chosen'))).toContain('<canary /keyed>')
      expect(await gateway.raw(keyed('/keyed', 'other'))).toContain('<stable /keyed>')
    }
    expect(await gateway.recorded(6)).toMatchObject(
      Array.from({ length: 3 }, () => [{ subscription: 'chosen' }, { subscription: 'other' }]).flat(),
    )
  })

  it('serves an operation that only the canary has, to its callers alone', async () => {
    const { gateway } = await openCanary()
    expect(await gateway.raw(keyed('/new', 'chosen'))).toContain('<canary /new>')
    expect(await gateway.raw(keyed('/new', 'other'))).toContain('HTTP/1.1 404')
    expect(await gateway.raw(get('/public'))).toContain('HTTP/1.1 404')
  })

  it.each([
    ['without a credential', get('/open'), '<stable /open>'],
    ['with a credential that is not valid', get('/open', 'x-api-key: none\r\n'), 'HTTP/1.1 401'],
    [
      'with two credentials of a kind',
      get('/open', 'x-api-key: key-chosen\r\nx-api-key: key-chosen\r\n'),
      'HTTP/1.1 400',
    ],
    ['to a path that is not canonical', keyed('/a/../keyed', 'chosen'), 'HTTP/1.1 400'],
  ])('answers a call %s by the active revision', async (_, request, answer) => {
    const { gateway, canary } = await openCanary()
    expect(await gateway.raw(request)).toContain(answer)
    expect(canary.backend?.only?.gate.hasFailed).toBe(false)
    expect(await gateway.recorded(1)).toHaveLength(1)
  })

  it('serves a caller of another tenant, or without a subscription, by the active revision, which refuses it', async () => {
    const caller = callerOf('chosen')
    const foreign = { ...caller, grant: { ...caller.grant, tenant: 'rival' } }
    const outside = { ...caller, grant: { ...caller.grant, apiProductId: 'prd_1' } }
    for (const result of [foreign, outside, createRefusal('subscription_required', 'none')]) {
      const { gateway } = await openCanary({ authenticate: () => result })
      expect(await gateway.raw(keyed('/new', 'chosen'))).toContain('HTTP/1.1 404')
      expect(await gateway.raw(keyed('/keyed', 'chosen'))).toContain('HTTP/1.1 403')
    }
  })

  it('serves the messages and tools of MCP by the revision of the caller', async () => {
    const { gateway } = await openCanary({ isOnlyNextOnMcp: true })
    const message = (subscription: string): string => {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'new', arguments: {} },
      })
      const head =
        'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n' +
        `Content-Length: ${body.length}\r\nx-api-key: key-${subscription}\r\n`
      return get('/mcp', head).replace('GET', 'POST') + body
    }
    expect(await gateway.raw(message('chosen'))).toContain('<canary /new>')
    expect(await gateway.raw(message('other'))).toContain('HTTP/1.1 404')
  })
})

describe('a call that waits for its credential', () => {
  async function openWaiting() {
    const pending: ((result: Awaited<AuthenticationResult>) => void)[] = []
    let isKnown = false
    const isStale = { now: false }
    const authenticate = (): AuthenticationResult => {
      if (isKnown) return callerOf('chosen')
      const { promise, resolve } = Promise.withResolvers<Awaited<AuthenticationResult>>()
      pending.push(resolve)
      return promise
    }
    const opened = await openCanary({ authenticate, server: { isStaleAt: () => isStale.now } })
    return {
      ...opened,
      isStale,
      waiting: () => pending.length,
      settle(result: Awaited<AuthenticationResult> = callerOf('chosen')) {
        isKnown = !('code' in result)
        for (const resolve of pending.splice(0)) resolve(result)
      },
    }
  }

  it('is served by the canary of its caller, once it is known', async () => {
    const { gateway, waiting, settle } = await openWaiting()
    const answer = gateway.raw(keyed('/keyed', 'chosen'))
    await expect.poll(waiting).toBe(1)
    expect(gateway.inFlight()).toBe(1)
    settle()
    expect(await answer).toContain('<canary /keyed>')
    expect(gateway.inFlight()).toBe(0)
  })

  it('is served by the active revision if the canary has ended meanwhile', async () => {
    const { gateway, waiting, settle, dropCanary } = await openWaiting()
    const answer = gateway.raw(keyed('/keyed', 'chosen'))
    await expect.poll(waiting).toBe(1)
    dropCanary()
    settle()
    expect(await answer).toContain('<stable /keyed>')
  })

  it('is answered 404 if the API was withdrawn meanwhile, and 503 if the registry was lost', async () => {
    const { gateway, waiting, settle, now, isStale } = await openWaiting()
    const answer = gateway.raw(keyed('/keyed', 'chosen'))
    await expect.poll(waiting).toBe(1)
    const { revision } = now
    now.revision = undefined
    settle()
    expect(await answer).toContain('HTTP/1.1 404')
    now.revision = revision
    isStale.now = true
    expect(await gateway.raw(keyed('/keyed', 'chosen'))).toContain('HTTP/1.1 503')
  })

  it('is recorded as aborted if its client goes meanwhile', async () => {
    const { gateway, waiting, settle } = await openWaiting()
    const socket = await gateway.open()
    socket.write(keyed('/keyed', 'chosen'))
    await expect.poll(waiting).toBe(1)
    socket.destroy()
    // The answer on another connection shows that the gateway has noticed.
    await gateway.raw('GET /none-v1/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    settle()
    expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'client_aborted', status: 499 }])
    expect(gateway.inFlight()).toBe(0)
  })

  it('is refused if its credential turns out to be revoked', async () => {
    const { gateway, waiting, settle } = await openWaiting()
    const answer = gateway.raw(keyed('/new', 'chosen'))
    await expect.poll(waiting).toBe(1)
    settle(createRefusal('credential_invalid', 'revoked'))
    // Only the canary has the operation.
    expect(await answer).toContain('HTTP/1.1 404')
  })

  it.each(['/keyed', '/new', '/mcp'])(
    'is refused if it cannot be verified, and no revision serves it: %s',
    async (path) => {
      const { gateway, waiting, settle } = await openWaiting()
      const answer = gateway.raw(keyed(path, 'chosen'))
      await expect.poll(waiting).toBe(1)
      settle(createRefusal('unavailable', 'The credential cannot be looked up at the moment.'))
      // A second verification would succeed.
      settle()
      expect(await answer).toMatch(/^HTTP\/1\.1 503[^]*Retry-After: 1\r\n[^]*"code":"unavailable"/i)
      expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'unavailable', status: 503, subscription: '' }])
      expect(gateway.inFlight()).toBe(0)
    },
  )
})

describe('a call whose credential', () => {
  it.each<[string, () => AuthenticationResult]>([
    [
      'throws',
      () => {
        throw new Error('a bug')
      },
    ],
    ['rejects', () => Promise.reject(new Error('a bug'))],
  ])('cannot be verified because the verification %s is refused, and the fault is reported', async (_, fail) => {
    let calls = 0
    const authenticate = (): AuthenticationResult => (calls++ === 0 ? fail() : callerOf('chosen'))
    const { gateway } = await openCanary({ authenticate })
    expect(await gateway.raw(keyed('/keyed', 'chosen'))).toContain('HTTP/1.1 503')
    expect(gateway.faults).toHaveLength(1)
    expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'unavailable', status: 503 }])
    expect(await gateway.raw(keyed('/keyed', 'chosen'))).toContain('<canary /keyed>')
  })

  it.each([
    ['/keyed', 'HTTP/1.1 401'],
    ['/open', 'HTTP/1.1 401'],
    ['/none', 'HTTP/1.1 404'],
    ['/mcp', 'HTTP/1.1 401'],
  ])('is not valid is verified once, at %s', async (path, answer) => {
    for (const isLate of [false, true]) {
      let calls = 0
      const refusal = createRefusal('credential_invalid', 'forged')
      const authenticate = (): AuthenticationResult => (calls++, isLate ? Promise.resolve(refusal) : refusal)
      const { gateway } = await openCanary({ authenticate })
      expect(await gateway.raw(keyed(path, 'chosen'))).toContain(answer)
      expect(calls).toBe(1)
    }
  })
})

it('A call keeps the canary that it started with, although the canary ends meanwhile', async () => {
  const { promise: isReached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  const onCall = async (name: string): Promise<void> => {
    if (name !== 'canary') return
    reach()
    await isReleased
  }
  const { gateway, dropCanary, canary } = await openCanary({ onCall })
  const answer = gateway.raw(keyed('/keyed', 'chosen'))
  await isReached
  dropCanary()
  canary.backend?.close()
  expect(await gateway.raw(keyed('/keyed', 'chosen'))).toContain('<stable /keyed>')
  release()
  expect(await answer).toContain('<canary /keyed>')
})

it('Responses are compared with the document of the revision that served them; only the active one reports unknown operations', async () => {
  const reported: string[] = []
  const drift: DriftWatch = {
    checkHead(_, { responses, canaryRevision, anonymous: { revision } }) {
      if (responses !== null) reported.push(`response ${revision ?? 0} ${canaryRevision ?? 'active'}`)
      return null
    },
    reportOperation: ({ attribution: { revision } }) => void reported.push(`operation ${revision ?? 0}`),
  }
  const { gateway } = await openCanary({ drift })
  for (const subscription of ['chosen', 'other'])
    for (const path of ['/keyed', '/none']) await gateway.raw(keyed(path, subscription))
  expect(await gateway.recorded(4)).toHaveLength(4)
  expect(reported).toEqual(['response 2 2', 'response 1 active', 'operation 1'])
})
