/**
 * The service that a command calls, and a token for it.
 *
 * The environment comes first: `TOLLGATE_TOKEN`, or `TOLLGATE_CLIENT_ID` with `TOLLGATE_CLIENT_SECRET`, at `TOLLGATE_URL`. Otherwise
 * the context that `--context` names, or the current one. The tokens of a context are never sent to another address than its own.
 */

import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { contextPath, openContexts, withContext, type Context, type ContextStore } from './contexts.ts'
import { discover, type Service } from './discovery.ts'
import { checkAddress } from './http.ts'
import { OauthRefused, requestTokens, type Tokens } from './tokens.ts'

export interface Session {
  readonly baseUrl: string
  /** Name of the context; null if the credentials are from the environment. */
  readonly context: string | null
  service(): Promise<Service>
  /** Returns a valid token, or `''` for calls without credentials; `isRefused` requests a new one in place of a token that the service has refused. */
  token(isRefused?: boolean): Promise<string>
  /** Shows a sentence to the person, beside the result of the command. */
  warn(sentence: string): void
}

export const DEFAULT_URL = 'http://127.0.0.1:8081'
const RENEW_BEFORE_MS = 30_000

export async function openSession(io: Io, contextName?: string): Promise<Session> {
  const { env } = io
  const address = env['TOLLGATE_URL'] ? checkAddress(env['TOLLGATE_URL'], 'TOLLGATE_URL') : null
  const store = openContexts(contextPath(env))
  if (env['TOLLGATE_TOKEN'] || env['TOLLGATE_CLIENT_ID']) {
    const baseUrl = address ?? (await currentUrl(store, contextName)) ?? DEFAULT_URL
    return environmentSession(io, baseUrl)
  }
  return contextSession(io, store, await chooseContext(store, contextName, address))
}

/** Needs no sign-in: the service is `TOLLGATE_URL`, that of the context, or the one on this machine. */
export async function openPublicSession(io: Io, contextName?: string): Promise<Session> {
  const { env } = io
  const address = env['TOLLGATE_URL'] ? checkAddress(env['TOLLGATE_URL'], 'TOLLGATE_URL') : null
  const baseUrl = address ?? (await currentUrl(openContexts(contextPath(env)), contextName)) ?? DEFAULT_URL
  return { baseUrl, context: null, service: once(() => discover(baseUrl, io)), token: async () => '', warn: warnOn(io) }
}

function environmentSession(io: Io, baseUrl: string): Session {
  const { TOLLGATE_TOKEN: token, TOLLGATE_CLIENT_ID: clientId, TOLLGATE_CLIENT_SECRET: clientSecret } = io.env
  const service = once(() => discover(baseUrl, io))
  const fetchTokens = async (): Promise<Tokens> => {
    if (!clientId || !clientSecret) throw new CommandFailed('Set TOLLGATE_CLIENT_SECRET as well as TOLLGATE_CLIENT_ID.')
    return requestTokens((await service()).gatewayUrl, clientForm(clientId, clientSecret))
  }
  let held: Tokens | null = null
  return {
    baseUrl,
    context: null,
    service,
    async token(isRefused = false) {
      if (token) return token
      if (held === null || isRefused || isOver(held)) held = await fetchTokens()
      return held.accessToken
    },
    warn: warnOn(io),
  }
}

function contextSession(io: Io, store: ContextStore, chosen: Context): Session {
  let context = chosen
  return {
    baseUrl: context.baseUrl,
    context: context.name,
    service: once(() => discover(context.baseUrl, io)),
    async token(isRefused = false) {
      if (isRefused || isOver(context)) context = await renew(store, context)
      return context.accessToken
    },
    warn: warnOn(io),
  }
}

function warnOn({ err }: Pick<Io, 'err'>): (sentence: string) => void {
  return (sentence) => err.write(`${sentence}\n`)
}

/** Renews the token under the lock of the file, unless another command has done so meanwhile. */
async function renew(store: ContextStore, used: Context): Promise<Context> {
  const { contexts } = await store.update(async (file) => {
    const stored = file.contexts.find(({ name }) => name === used.name)
    if (stored === undefined) throw signedOut(used.name)
    if (stored.accessToken !== used.accessToken && !isOver(stored)) return file
    const { clientId, clientSecret, refreshToken, gatewayUrl } = stored
    if (clientSecret === undefined && refreshToken === undefined) throw signedOut(used.name)
    const form =
      clientSecret === undefined
        ? { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken ?? '' }
        : clientForm(clientId, clientSecret)
    const tokens = await requestTokens(gatewayUrl, form).catch((cause: unknown) => {
      throw cause instanceof OauthRefused && cause.code === 'invalid_grant' ? signedOut(used.name) : cause
    })
    return { ...withContext(file, { ...stored, ...tokens }), current: file.current }
  })
  return contexts.find(({ name }) => name === used.name) ?? used
}

async function chooseContext(store: ContextStore, name: string | undefined, address: string | null): Promise<Context> {
  const { current, contexts } = await store.read()
  const isChosen = (context: Context): boolean => context.name === (name ?? current)
  const chosen =
    address === null || name !== undefined
      ? contexts.find(isChosen)
      : (contexts.find((context) => isChosen(context) && context.baseUrl === address) ??
        contexts.find(({ baseUrl }) => baseUrl === address))
  if (chosen === undefined && name !== undefined)
    throw new CommandFailed(`There is no context ${name}. See: tollgate context list`)
  if (chosen === undefined) {
    throw new CommandFailed(
      `You are not signed in${address === null ? '' : ` to ${address}`}. Run tollgate login, or set TOLLGATE_URL, TOLLGATE_CLIENT_ID and TOLLGATE_CLIENT_SECRET.`,
    )
  }
  if (address !== null && chosen.baseUrl !== address) {
    throw new CommandFailed(`The context ${chosen.name} belongs to ${chosen.baseUrl}, but TOLLGATE_URL is ${address}.`)
  }
  return chosen
}

async function currentUrl(store: ContextStore, name: string | undefined): Promise<string | null> {
  const { current, contexts } = await store.read()
  return contexts.find((context) => context.name === (name ?? current))?.baseUrl ?? null
}

function signedOut(name: string): CommandFailed {
  return new CommandFailed(`The session of the context ${name} has ended. Run: tollgate login`)
}

export function clientForm(clientId: string, clientSecret: string): Readonly<Record<string, string>> {
  return { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
}

function isOver({ expiresAtMs }: Pick<Tokens, 'expiresAtMs'>): boolean {
  return Date.now() > expiresAtMs - RENEW_BEFORE_MS
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => (made ??= make())
}
