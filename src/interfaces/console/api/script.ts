/** The calls that the view has made, so that it can be shown as a script. They are kept until another view is opened. */

import { signal } from '@preact/signals'

export interface MadeCall {
  readonly method: string
  /** The path of the platform API, with its query. */
  readonly url: string
  /** JSON. */
  readonly body: string | null
}

const CALLS_MAX = 40

export const madeCalls = signal<readonly MadeCall[]>([])

const TEXT_LENGTH_MAX = 2_000
const SECRET = /password|secret|token|^code$/i

/**
 * A call that repeats an earlier one is kept once; one that replaces earlier ones does so whatever their body was. Values of secret
 * fields are left out, and so are documents.
 */
export function record({ method, url, body }: MadeCall, replaces = false): void {
  const call = { method, url, body: body === null ? null : withoutSecrets(body) }
  const others = madeCalls.peek().filter((each) => !isSame(each, replaces ? { ...call, body: each.body } : call))
  madeCalls.value = [...others, call].slice(-CALLS_MAX)
}

export function dropCalls(): void {
  madeCalls.value = []
}

function isSame(one: MadeCall, other: MadeCall): boolean {
  return one.method === other.method && one.url === other.url && one.body === other.body
}

function withoutSecrets(body: string): string {
  return JSON.stringify(JSON.parse(body, (key, value: unknown) => (SECRET.test(key) || isLong(value) ? '…' : value)))
}

function isLong(value: unknown): boolean {
  return typeof value === 'string' && value.length > TEXT_LENGTH_MAX
}
