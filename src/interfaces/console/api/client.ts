/** Calls the platform API through the session of the console. The browser has no token: the service adds it. */

import { signal } from '@preact/signals'
import type { Answer, ChangeBody, ChangeName, Changes, ReadPath } from './operations.ts'
import { record } from './script.ts'

export interface Problem {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly requestId: string
  /** Faults of a body, by place. */
  readonly errors?: readonly {
    readonly pointer: string
    readonly detail: string
    readonly line?: number
  }[]
}

/** The service refused a call, or could not be reached (status 0). */
export class CallRefused extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** Null: not known yet. */
export const isSignedIn = signal<boolean | null>(null)

/** The consumer that a person acts for; `''`: the first one of the roles. */
export const chosenConsumer = signal('')

export const API = '/console/api'
export const HEADERS = { 'tollgate-console': '1' } as const
const UNAUTHENTICATED = 401

export interface ReadOptions {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Throws `CallRefused`. */
export async function read<Path extends ReadPath>(path: Path, options: ReadOptions = {}): Promise<Answer<Path>> {
  return (await (await get(path, options)).json()) as Answer<Path>
}

export interface Version<Data> {
  readonly data: Data
  /** For a change that must not overwrite that of another person. */
  readonly etag: string
}

/** Throws `CallRefused`. */
export async function readVersion<Path extends ReadPath>(
  path: Path,
  options: ReadOptions = {},
): Promise<Version<Answer<Path>>> {
  const response = await get(path, options)
  return { data: (await response.json()) as Answer<Path>, etag: response.headers.get('etag') ?? '*' }
}

/** Reads a document as it was published. Throws `CallRefused`. */
export async function readText(path: ReadPath, options: ReadOptions = {}): Promise<string> {
  return (await get(path, options)).text()
}

function get(path: ReadPath, options: ReadOptions): Promise<Response> {
  const url = toUrl(path, options)
  record({ method: 'GET', url: url.slice(API.length), body: null })
  return request(url, { signal: options.signal ?? null })
}

export interface ChangeOptions {
  /** `If-Match`: the change is refused if the resource has changed since. */
  readonly etag?: string
  /** Repeated while a person types: the script of the view has the last one. */
  readonly isTrial?: boolean
}

/** Makes a change, and returns the answer. Throws `CallRefused`. */
export async function change<Name extends ChangeName>(
  name: Name,
  params: Readonly<Record<string, string>>,
  body: ChangeBody<Name>,
  { etag, isTrial = false }: ChangeOptions = {},
): Promise<Changes<Name>> {
  const [method = '', path = ''] = name.split(' ')
  const url = toUrl(path, { params })
  const text = body === undefined ? null : JSON.stringify(body)
  record({ method, url: url.slice(API.length), body: text }, isTrial)
  const headers = {
    ...(text !== null && { 'content-type': 'application/json' }),
    ...(etag !== undefined && { 'if-match': etag }),
  }
  const response = await request(url, { method, headers, body: text })
  const isEmpty = response.status === 204 || !isJson(response)
  return (isEmpty ? undefined : await response.json()) as Changes<Name>
}

export function toUrl(path: string, { params = {}, query = {} }: ReadOptions): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  return API + filled + (search === '' ? '' : `?${search}`)
}

/** Throws `CallRefused` for a status of 400 or above. */
export async function request(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, {
    ...init,
    headers: { accept: 'application/json', ...HEADERS, ...consumerHeader(), ...init.headers },
  }).catch((cause: unknown) => {
    if (init.signal?.aborted === true) throw cause
    throw new CallRefused({ status: 0, code: 'unreachable', detail: 'The service cannot be reached.', requestId: '' })
  })
  if (response.status === UNAUTHENTICATED) isSignedIn.value = false
  if (response.status < 400) return response
  throw new CallRefused(await readProblem(response))
}

function consumerHeader(): Readonly<Record<string, string>> {
  return chosenConsumer.value === '' ? {} : { 'x-consumer-id': chosenConsumer.value }
}

function isJson({ headers }: Response): boolean {
  return /[/+]json\b/.test(headers.get('content-type') ?? '')
}

async function readProblem(response: Response): Promise<Problem> {
  const found = (await response.json().catch(() => ({}))) as Partial<Problem>
  const { code = 'unknown', detail = `The service answered ${response.status}.`, requestId = '', errors = [] } = found
  return { status: response.status, code, detail, requestId, errors }
}
