/** Transitions of a proxy's revisions, shared by the commands. */

import { begin, step } from '../command/persisted-machine.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { ProxyBody } from './proxy-document.ts'
import { proxy as machine, type ProxyContext, type ProxyEvent } from './proxy-machine.ts'

export function initialRevisions(atMs: number): ProxyBody['actor'] {
  return begin(machine, { hasRevisionZero: false, atMs }) as ProxyBody['actor']
}

/** Throws a `Problem` if the state does not accept the event. */
export function stepRevisions(actor: ProxyBody['actor'], event: ProxyEvent): ProxyBody['actor'] {
  const result = step(machine, actor, event)
  if ('next' in result) return result.next as ProxyBody['actor']
  if (event.type === 'revision.staged') throw canaryRuns(actor)
  if (event.type === 'canary.set' && actor.context.stagingRevision !== null) throw noActiveRevision()
  throw new Problem('no_staging_revision', 'The proxy has no staging revision. Stage one with POST /v1/proxies.')
}

/** The operations that end a staging revision. */
const ENDING = ['activate', 'discard'] as const

function canaryRuns({ context }: ProxyBody['actor']): Problem {
  const detail =
    `Revision ${context.stagingRevision} serves some of the callers. Activate it for all, or discard it, ` +
    'before you stage another one.'
  return new Problem('state_conflict', detail, { extensions: { state: 'canary', allowed: ENDING } })
}

function noActiveRevision(): Problem {
  const detail = 'No revision is active for the other callers. Activate the staging revision for all.'
  return new Problem('state_conflict', detail, { extensions: { state: 'staging', allowed: ENDING } })
}

/** Returns the proxy after the event, without the deployments of revisions that are no longer retained. */
export function steppedProxy(body: ProxyBody, event: ProxyEvent): ProxyBody {
  const actor = stepRevisions(body.actor, event)
  return { ...body, actor, deployments: retained(actor.context, body.deployments) }
}

export function retained({ revisions }: ProxyContext, deployments: ProxyBody['deployments']): ProxyBody['deployments'] {
  const numbers = new Set(revisions.map(({ revision }) => String(revision)))
  return Object.fromEntries(Object.entries(deployments).filter(([revision]) => numbers.has(revision)))
}
