/**
 * `POST /console/try`: makes a call to an API of the gateway in the name of the person who is signed in.
 *
 * The token is issued for this call, stays here, and opens what the person could call with any client. The gateway authenticates,
 * limits and meters the call like every other one. A person has a few calls in progress at a time, in all sessions together, and so have
 * a tenant and the console. A person of several consumers acts for the one in `X-Consumer-Id`, as at the platform API.
 */

import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Problem } from '../../foundation/domain/problem.ts'
import type { PersonToken } from '../../control/identity/person-tokens.ts'
import type { ConsoleCookies } from './console-cookies.ts'
import type { ConsoleRequests } from './console-requests.ts'
import type { ConsoleSessions } from './console-sessions.ts'
import { claimsOf } from './token-claims.ts'
import type { GatewayAnswer, SendToGateway } from './try-gateway.ts'
import { toGatewayRequest, TRY_SCHEMA, type TryInput } from './try-request.ts'

export interface Tries {
  install(app: FastifyInstance): void
}

export interface TriesOptions {
  readonly cookies: Pick<ConsoleCookies, 'session'>
  readonly sessions: Pick<ConsoleSessions, 'apiTokenOf'>
  readonly requests: Pick<ConsoleRequests, 'credentialFor'>
  readonly send: SendToGateway
}

export type TryAnswer =
  | (GatewayAnswer & { readonly kind: 'answer' })
  /** None of the consumers that the person acts for is subscribed to the API; with `X-Consumer-Id`, that one is not. */
  | { readonly kind: 'unsubscribed'; readonly consumers: readonly string[] }

const BODY_BYTES_MAX = 2 * 1_024 * 1_024
const OF_PERSON_MAX = 4
const OF_TENANT_MAX = 16
const IN_TOTAL_MAX = 32
const CONSUMER_HEADER = 'x-consumer-id'
const NOT_SIGNED_IN = 'Nobody is signed in to the console, or the session has ended.'

export function createTries({ cookies, sessions, requests, send }: TriesOptions): Tries {
  const running = createRunning()
  const callers = new WeakMap<IncomingMessage, Caller>()

  async function make(session: string, input: TryInput, consumer: string | undefined): Promise<TryAnswer> {
    const request = toGatewayRequest(input)
    const found = await sessions.apiTokenOf(session, input.api, consumer)
    if (found === null || found.kind === 'ended') throw new Problem('credential_missing', NOT_SIGNED_IN)
    if (found.kind === 'unsubscribed') return found
    return { kind: 'answer', ...(await send(request, textOf(found, input.api))) }
  }

  return {
    install(app) {
      const sessionOf = (cookie: string | undefined): string => {
        const id = cookies.session.read(cookie)
        if (id === null) throw new Problem('credential_missing', NOT_SIGNED_IN)
        return id
      }
      app.post<{ Body: TryInput }>('/console/try', {
        bodyLimit: BODY_BYTES_MAX,
        schema: { body: TRY_SCHEMA },
        // Before the body is read.
        async onRequest({ raw }) {
          callers.set(raw, callerOf(await requests.credentialFor(raw)))
        },
        handler: async ({ raw, headers, body }, reply) => {
          const session = sessionOf(headers.cookie)
          // A header that is sent twice is one text, which names no consumer.
          const consumer = headers[CONSUMER_HEADER]?.toString()
          const answer = await running.during(callers.get(raw)!, () => make(session, body, consumer))
          return reply.header('Cache-Control', 'no-store').send(answer)
        },
      })
    },
  }
}

function textOf(token: Exclude<PersonToken, { readonly kind: 'ended' | 'unsubscribed' }>, api: string): string {
  switch (token.kind) {
    case 'token':
      return token.text
    case 'foreign':
      throw new Problem('operation_forbidden', 'You do not act for this consumer.')
    case 'unknown':
      throw new Problem('not_found', `There is no API ${api} that serves calls.`)
    case 'tooLong':
      throw new Problem('state_conflict', 'The subscription has too many scopes for one token.', {
        extensions: { state: 'Active', allowed: [] },
      })
  }
}

interface Caller {
  readonly tenant: string
  readonly person: string
}

function callerOf(credential: string): Caller {
  const { tenant, sub } = claimsOf(credential)
  return { tenant: String(tenant), person: String(sub) }
}

interface Running {
  /** Throws `Problem('rate_limited')` if too many calls are in progress. */
  during<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result>
}

function createRunning(): Running {
  const counts = new Map<string, number>()
  const add = (key: string, change: 1 | -1): void => {
    const next = (counts.get(key) ?? 0) + change
    if (next === 0) counts.delete(key)
    else counts.set(key, next)
  }
  return {
    async during({ tenant, person }, work) {
      const limits = [
        ['', IN_TOTAL_MAX],
        [JSON.stringify([tenant]), OF_TENANT_MAX],
        [JSON.stringify([tenant, person]), OF_PERSON_MAX],
      ] as const
      if (limits.some(([key, limit]) => (counts.get(key) ?? 0) >= limit))
        throw new Problem('rate_limited', 'Too many calls are in progress. Wait for the answer of one of them.')
      for (const [key] of limits) add(key, 1)
      try {
        return await work()
      } finally {
        for (const [key] of limits) add(key, -1)
      }
    },
  }
}
