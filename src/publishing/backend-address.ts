/** The address of a backend: the one of the deployment, else the document's first server. */

import { Problem } from '../domain/problem.ts'
import { invalidAt } from '../command/commands.ts'
import type { Deployment } from './proxy-document.ts'

export interface BackendInput {
  readonly url: string
  readonly timeoutMs?: number
  readonly health?: string
  readonly connections?: number
  readonly waitMs?: number
}

/** Decides at which addresses the backends of a tenant may be. */
export interface BackendRule {
  /** Returns why a backend of `tenant` may not be at `url`, or null. */
  refuse(tenant: string, url: string): Promise<string | null>
  /** Returns whether backends of `tenant` may be at any address. */
  mayBePrivate(tenant: string): boolean
}

const TIMEOUT_MS = 30_000

/** Throws a problem if neither the request nor the document has a usable URL. */
export function toBackend(input: BackendInput | undefined, serverUrl: string | null): Deployment['backend'] {
  const url = input?.url ?? serverUrl
  if (url === null) {
    throw new Problem('specification_invalid', 'The revision has no usable backend.', {
      errors: [
        { pointer: '/backend', detail: 'Set a backend in the request, or' },
        { pointer: '/servers/0/url', detail: 'set an absolute http or https URL in the document.' },
      ],
    })
  }
  const pointer = input === undefined ? '/servers/0/url' : '/backend/url'
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw invalidAt(pointer, 'The backend must be an absolute http or https URL.')
  if (parsed.username !== '' || parsed.password !== '')
    throw invalidAt(pointer, 'The backend URL must not contain credentials.')
  if (parsed.search !== '' || parsed.hash !== '')
    throw invalidAt(pointer, 'The backend URL must not contain a query or a fragment.')
  return {
    url,
    origin: parsed.origin,
    basePath: parsed.pathname.replace(/\/+$/, ''),
    timeoutMs: input?.timeoutMs ?? TIMEOUT_MS,
    ...(input?.health !== undefined && { health: input.health }),
    ...(input?.connections !== undefined && { connections: input.connections }),
    ...(input?.waitMs !== undefined && { waitMs: input.waitMs }),
  }
}

/** Throws if the backend of a staged revision may not serve: it was staged before the rule, or its name has moved since. */
export async function checkStaged(
  rule: Pick<BackendRule, 'refuse'>,
  tenant: string,
  { url }: Deployment['backend'],
): Promise<void> {
  const refused = await rule.refuse(tenant, url)
  if (refused !== null) throw new Problem('state_conflict', `${refused} Stage another revision.`)
}
