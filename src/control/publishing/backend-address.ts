/** The addresses of a backend, and the checks that they must pass. */

import { Problem } from '../../foundation/domain/problem.ts'
import { invalidAt } from '../command/commands.ts'
import type { SecretsInput } from './backend-secrets.ts'
import { certificateFault } from './backend-tls.ts'
import type { DeployedBackend } from './proxy-document.ts'

/** Has exactly one of `url` and `targets`. */
export interface BackendInput extends SecretsInput {
  readonly url?: string
  readonly targets?: readonly TargetInput[]
  readonly balance?: 'roundRobin' | 'leastBusy'
  readonly timeoutMs?: number
  readonly health?: string
  readonly connections?: number
  readonly waitMs?: number
}

export interface TargetInput {
  readonly url: string
  readonly weight?: number
}

/** Decides which addresses the backends of a tenant may have. */
export interface BackendRule {
  /** Returns the reason why a backend of `tenant` must not have this URL; null if it may. */
  refuse(tenant: string, url: string): Promise<string | null>
  /** Returns whether backends of `tenant` may have private addresses. */
  mayBePrivate(tenant: string): boolean
}

const TIMEOUT_MS = 30_000

/**
 * Returns a backend without its secrets. Uses the addresses of the request, or that of the document if the request has none.
 * Throws a problem if one is missing or unusable.
 */
export function toBackend(input: BackendInput | undefined, serverUrl: string | null): DeployedBackend {
  if (input === undefined) return { ...toAddress(requireUrl(serverUrl), '/servers/0/url'), timeoutMs: TIMEOUT_MS }
  return {
    ...toAddresses(input),
    timeoutMs: input.timeoutMs ?? TIMEOUT_MS,
    ...(input.health !== undefined && { health: input.health }),
    ...(input.connections !== undefined && { connections: input.connections }),
    ...(input.waitMs !== undefined && { waitMs: input.waitMs }),
    ...(input.balance !== undefined && { balance: input.balance }),
  }
}

/** The URLs of a backend, each with the place in a request where it would be set. */
export function addressesOf({ url, targets }: DeployedBackend): readonly { url: string; pointer: string }[] {
  if (targets === undefined) return [{ url, pointer: '/backend/url' }]
  return targets.map((target, index) => ({ url: target.url, pointer: `/backend/targets/${index}/url` }))
}

/**
 * Throws a problem if the tenant may not have one of the addresses. `pointer`: where the addresses come from, unless from
 * `backend`.
 */
export async function checkAddresses(
  rule: Pick<BackendRule, 'refuse'>,
  tenant: string,
  backend: DeployedBackend,
  pointer?: string,
): Promise<void> {
  // One after the other: a lookup of a host name may take seconds, and few of them run at once in a process.
  for (const address of addressesOf(backend)) {
    const refused = await rule.refuse(tenant, address.url)
    if (refused !== null) throw invalidAt(pointer ?? address.pointer, refused)
  }
}

/**
 * Checks the backend of a staged revision again: the rule, or the IP address of the backend's host, may have changed since
 * staging, and its certificate may have expired.
 */
export async function checkStaged(
  rule: Pick<BackendRule, 'refuse'>,
  tenant: string,
  backend: DeployedBackend,
  nowMs: number,
): Promise<void> {
  const fault = certificateFault(backend.tls ?? {}, nowMs)
  if (fault !== null) throw unusable(`${fault} Stage a revision with another one.`)
  for (const { url } of addressesOf(backend)) {
    const refused = await rule.refuse(tenant, url)
    if (refused !== null) throw unusable(`${refused} Stage another revision.`)
  }
}

function requireUrl(serverUrl: string | null): string {
  if (serverUrl !== null) return serverUrl
  throw new Problem('specification_invalid', 'The revision has no usable backend.', {
    errors: [
      { pointer: '/backend', detail: 'Set a backend in the request, or an absolute URL in the document.' },
      {
        pointer: '/servers/0/url',
        detail: 'Set an absolute http or https URL in the document, or a backend in the request.',
      },
    ],
  })
}

function toAddresses({ url, targets, balance }: BackendInput): Omit<DeployedBackend, 'timeoutMs'> {
  if ((url === undefined) === (targets === undefined))
    throw invalidAt('/backend', 'Set exactly one of `url` and `targets`.')
  if (url !== undefined) {
    if (balance !== undefined) throw invalidAt('/backend/balance', 'Only a backend with `targets` can have `balance`.')
    return toAddress(url, '/backend/url')
  }
  const all = (targets ?? []).map(toTarget)
  const [first] = all
  if (first === undefined) throw invalidAt('/backend/targets', 'Set at least one target.')
  const twin = all.findIndex((target, index) => all.findIndex((other) => isSame(target, other)) < index)
  if (twin >= 0) throw invalidAt(`/backend/targets/${twin}/url`, 'Two targets have this URL. Set its `weight` instead.')
  return { url: first.url, origin: first.origin, basePath: first.basePath, targets: all }
}

function toTarget({ url, weight }: TargetInput, index: number): NonNullable<DeployedBackend['targets']>[number] {
  return { ...toAddress(url, `/backend/targets/${index}/url`), ...(weight !== undefined && { weight }) }
}

interface Address {
  readonly url: string
  readonly origin: string
  readonly basePath: string
}

function isSame(one: Address, other: Address): boolean {
  return one.origin === other.origin && one.basePath === other.basePath
}

function toAddress(url: string, pointer: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw invalidAt(pointer, 'The backend must be an absolute http or https URL.')
  if (parsed.username !== '' || parsed.password !== '')
    throw invalidAt(pointer, 'The backend URL must not contain credentials.')
  if (parsed.search !== '' || parsed.hash !== '')
    throw invalidAt(pointer, 'The backend URL must not contain a query or a fragment.')
  return { url, origin: parsed.origin, basePath: parsed.pathname.replace(/\/+$/, '') }
}

function unusable(detail: string): Problem {
  const allowed = ['discard', 'stage'] as const
  return new Problem('state_conflict', detail, { extensions: { state: 'staging', allowed } })
}
