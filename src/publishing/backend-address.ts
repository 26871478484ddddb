/** The address of a backend, and the checks that it must pass. */

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

/** Decides which addresses the backends of a tenant may have. */
export interface BackendRule {
  /** Returns the reason why a backend of `tenant` must not have this URL; null if it may. */
  refuse(tenant: string, url: string): Promise<string | null>
  /** Returns whether backends of `tenant` may have private addresses. */
  mayBePrivate(tenant: string): boolean
}

const TIMEOUT_MS = 30_000

/** Uses the URL of the request, or that of the document if the request has none. Throws a problem if it is missing or unusable. */
export function toBackend(input: BackendInput | undefined, serverUrl: string | null): Deployment['backend'] {
  const url = input?.url ?? serverUrl
  if (url === null) {
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

/** Checks the backend of a staged revision again: the rule, or the IP address of the backend's host, may have changed since staging. */
export async function checkStaged(
  rule: Pick<BackendRule, 'refuse'>,
  tenant: string,
  { url }: Deployment['backend'],
): Promise<void> {
  const refused = await rule.refuse(tenant, url)
  if (refused !== null) throw new Problem('state_conflict', `${refused} Stage another revision.`)
}
