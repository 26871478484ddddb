/**
 * An exception in one call fails only that call, with 500 or an aborted connection, and never ends the gateway thread. The tests throw
 * at every stage and in every callback, then check that the next call succeeds.
 */

import { Agent, request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createResponseRules } from '../../../src/gateway/headers/header-rules.ts'
import type { CompiledRevision } from '../../../src/gateway/call/revision.ts'
import { callerOf, openBackend, openTestGateway, type TestGatewayOptions } from '../../fixtures/test-gateway.ts'
import { boom, once } from '../../fixtures/throwing.ts'

const BODY = 'x'.repeat(100_000)

interface Answer {
  readonly status: number
  readonly code: string
}

/** Sends a call; resolves with null if the connection is aborted. */
function call(
  port: number,
  { method = 'GET', path = '/things-v1/keyed', body = '', key = 'key-a' } = {},
): Promise<Answer | null> {
  return new Promise((resolve) => {
    const sent = request(
      {
        port,
        method,
        path,
        agent: new Agent(),
        headers: { 'x-api-key': key, 'content-type': 'application/octet-stream' },
      },
      (response) => {
        let text = ''
        response.on('data', (chunk) => (text += chunk))
        response.on('end', () => {
          const { code = '' } = text.startsWith('{') ? (JSON.parse(text) as { code?: string }) : {}
          resolve({ status: response.statusCode ?? 0, code })
        })
        response.on('error', () => resolve(null))
      },
    )
    sent.on('error', () => resolve(null))
    sent.end(body)
  })
}

const withRevision = (change: (revision: CompiledRevision) => Partial<CompiledRevision>) => ({
  changeRevision: (revision: CompiledRevision): CompiledRevision => ({ ...revision, ...change(revision) }),
})

type Fault = readonly [stage: string, options: Partial<TestGatewayOptions>, callOptions?: Parameters<typeof call>[1]]

/** A caller whose `method` throws when it is read. */
const callerThatThrows = Object.defineProperty({ ...callerOf('a') }, 'method', { get: boom })

const FAULTS: readonly Fault[] = [
  ['routing', withRevision(({ routes }) => ({ routes: { ...routes, find: once((...args) => routes.find(...args)) } }))],
  ['authentication', { authenticator: { authenticate: boom } }],
  [
    'authentication (rejected promise)',
    { authenticator: { authenticate: () => Promise.reject(new Error('injected')) } },
  ],
  ['loop detection', { handle: { loops: { isLoop: once(() => false), toLines: () => '' } } }],
  ['caller context', { handle: { callerContexts: { of: boom, release: () => {} } } }],
  ['authorisation', { authenticator: { authenticate: () => callerThatThrows } }],
  [
    'limits',
    { handle: { admissions: { admit: boom, wait: boom, release: () => {}, isApproaching: false, closedForMs: 0 } } },
  ],
  ['spool check', { handle: { isAccepting: boom } }],
  [
    'parameter validation',
    withRevision(({ operations }) => ({
      operations: operations.map((operation) => ({
        ...operation,
        validators: { ...operation.validators, parameters: once(() => null) },
      })),
    })),
  ],
  [
    'body validation',
    withRevision(({ operations }) => ({
      operations: operations.map((operation) => ({
        ...operation,
        validators: {
          ...operation.validators,
          body:
            operation.plan.method === 'POST'
              ? { accepts: () => ({ mode: 'check', bytesMax: 1_000_000, check: boom }) }
              : null,
        },
      })),
    })),
    { method: 'POST', body: BODY },
  ],
  [
    'forwarding',
    withRevision(({ backend }) => {
      backend!.only!.slots.acquire = once(backend!.only!.slots.acquire.bind(backend!.only!.slots))
      return {}
    }),
  ],
  [
    'dispatching',
    withRevision(({ backend }) => {
      backend!.only!.connections.send = once(backend!.only!.connections.send.bind(backend!.only!.connections))
      return {}
    }),
  ],
  [
    'response head',
    {
      send: {
        responseRules: {
          ...createResponseRules(),
          withoutCors: { of: once(createResponseRules().withoutCors.of) },
        },
      },
    },
  ],
  ['drift detection', { send: { drift: { checkHead: once(() => null), reportOperation: () => {} } } }],
  ['end of the event-loop turn', { send: { turnEnd: { join: once(() => {}) } } }],
  [
    'backend health',
    withRevision(({ backend }) => {
      backend!.only!.gate.answered = once(backend!.only!.gate.answered.bind(backend!.only!.gate))
      return {}
    }),
  ],
  ['upload of a streamed body', { send: { uploads: { create: boom } as never } }, { method: 'POST', body: BODY }],
]

const recursOnEveryCall = ({ handle, authenticator }: Partial<TestGatewayOptions>): boolean =>
  authenticator !== undefined || (handle !== undefined && handle.loops === undefined)

describe('an internal fault', () => {
  it.each(
    FAULTS.map(([stage, options, callOptions]): { stage: string; options: Fault[1]; callOptions: Fault[2] } => ({
      stage,
      options,
      callOptions,
    })),
  )(
    'in $stage fails only the current call, which gets 500 and is recorded and logged',
    async ({ options, callOptions }) => {
      const origin = await openBackend((_, response) => response.end('ok'))
      const gateway = await openTestGateway({ backend: { origin }, ...options })
      expect(await call(gateway.port, callOptions)).toEqual({ status: 500, code: 'internal' })
      expect(gateway.records.map(({ outcome, status }) => [outcome, status])).toEqual([['internal', 500]])
      expect(gateway.faults).toHaveLength(1)
      if (!recursOnEveryCall(options)) expect((await call(gateway.port))?.status).toBe(200)
      expect(gateway.inFlight()).toBe(0)
    },
  )

  it.each([
    ['adding to a sampled body', { add: boom, end: () => {} }],
    ['ending a sampled body', { add: () => {}, end: boom }],
  ])('while %s fails only the current call', async (_, sample) => {
    const origin = await openBackend((_, response) => response.end('ok'))
    let isFirst = true
    const checkHead = () => {
      if (!isFirst) return null
      isFirst = false
      return sample
    }
    const gateway = await openTestGateway({
      backend: { origin },
      send: { drift: { checkHead, reportOperation: () => {} } },
    })
    await call(gateway.port)
    expect(gateway.faults).toHaveLength(1)
    expect((await call(gateway.port))?.status).toBe(200)
    expect(gateway.inFlight()).toBe(0)
  })

  it('while the call is recorded aborts the response, because no response is sent without a record', async () => {
    const origin = await openBackend((_, response) => response.end('ok'))
    let isFirst = true
    const gateway = await openTestGateway({
      backend: { origin },
      append(call, record) {
        if (!isFirst) return record(call)
        isFirst = false
        boom()
      },
    })
    expect(await call(gateway.port)).toBeNull()
    expect(gateway.counts.get('call_not_recorded')).toBe(1)
    expect((await call(gateway.port))?.status).toBe(200)
    expect(gateway.inFlight()).toBe(0)
  })

  it('while a recorded response is sent aborts the connection', async () => {
    const origin = await openBackend((_, response) => response.end('ok'))
    const gateway = await openTestGateway({
      backend: { origin },
      append(call, record) {
        const { response } = call as unknown as { response: { start: () => void } }
        if (gateway.records.length === 0) response.start = boom
        record(call)
      },
    })
    expect(await call(gateway.port)).toBeNull()
    expect(gateway.faults.length).toBeGreaterThan(0)
    expect((await call(gateway.port))?.status).toBe(200)
  })

  it.each(['pause', 'resume'] as const)('when the response should %s aborts only that connection', async (where) => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(20_000_000)))
    let isFirst = true
    const gateway = await openTestGateway({
      backend: { origin },
      send: {
        readers: {
          enter: () => {
            if (!isFirst || where !== 'pause') return
            isFirst = false
            boom()
          },
          leave: () => {
            if (!isFirst || where !== 'resume') return
            isFirst = false
            boom()
          },
        },
      },
    })
    expect(await call(gateway.port)).toBeNull()
    expect(gateway.faults).toHaveLength(1)
    expect((await call(gateway.port))?.status).toBe(200)
  })
})
