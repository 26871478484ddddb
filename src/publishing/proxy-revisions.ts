/** Transitions of a proxy's revisions, shared by the commands. */

import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import { stateConflict } from '../command/commands.ts'
import { Problem } from '../domain/problem.ts'
import type { ProxyBody } from './proxy-document.ts'
import { proxy as machine, type ProxyContext, type ProxyEvent } from './proxy-machine.ts'

export function initialRevisions(atMs: number): ProxyBody['actor'] {
  return begin(machine, { hasRevisionZero: false, atMs }) as ProxyBody['actor']
}

/** Throws a `Problem` if the state does not accept the event. */
export function stepRevisions(actor: PersistedActor, type: ProxyEvent['type'], atMs: number): ProxyBody['actor'] {
  const result = step(machine, actor, { type, atMs })
  if ('next' in result) return result.next as ProxyBody['actor']
  if (type === 'revision.staged') throw stateConflict(result.refused)
  throw new Problem('no_staging_revision', 'The proxy has no staging revision. Stage one with POST /v1/proxies.')
}

/** Returns the proxy after the event, without the deployments of revisions that are no longer retained. */
export function steppedProxy(body: ProxyBody, type: ProxyEvent['type'], atMs: number): ProxyBody {
  const actor = stepRevisions(body.actor, type, atMs)
  return { ...body, actor, deployments: retained(actor.context, body.deployments) }
}

export function retained({ revisions }: ProxyContext, deployments: ProxyBody['deployments']): ProxyBody['deployments'] {
  const numbers = new Set(revisions.map(({ revision }) => String(revision)))
  return Object.fromEntries(Object.entries(deployments).filter(([revision]) => numbers.has(revision)))
}
