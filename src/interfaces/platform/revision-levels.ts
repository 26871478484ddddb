/** The measured service level of each revision of an API, so that one that has just been activated can be compared with the last. */

import { pageOf } from '../../control/command/page.ts'
import type { Proxies } from '../../control/publishing/proxies.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { ServiceLevels } from '../../control/service-levels/service-levels.ts'
import { whenCallerGone } from './caller-gone.ts'
import type { Handlers, Operations } from './operation.ts'
import { list, named, nullable, object, pagedQuery, servedRevision, text } from './schemas.ts'
import { measured, rangeFilters, toMeasuredRange } from './service-levels.ts'

const { calls, ...shares } = measured

export const REVISION_LEVEL_OPERATIONS = {
  getRevisionLevels: {
    method: 'GET',
    path: '/v1/proxies/:id/levels',
    summary: 'Lists the measured service level of each revision of a proxy that was called, the highest revision first',
    description:
      'Measured as for an API, in at most 31 days. The minute that is running is included, about a second late. The sums over all ' +
      'revisions are those of the API.',
    tag: 'Proxies',
    scope: 'proxies:read',
    query: pagedQuery(rangeFilters),
    status: 200,
    answer: list(
      named(
        'RevisionLevel',
        object({
          revision: servedRevision,
          fate: { ...nullable(text), description: 'As in the list of revisions; null: the revision is not kept.' },
          calls,
          unanswered: { type: 'integer', description: 'Calls without an answer.' },
          errors: { type: 'integer', description: 'Answers with status 5xx.' },
          ...shares,
        }),
      ),
    ),
  },
} as const satisfies Operations

export interface RevisionLevelHandlersOptions {
  readonly proxies: Pick<Proxies, 'get' | 'revisions'>
  readonly serviceLevels: Pick<ServiceLevels, 'ofRevisions'>
  readonly clock: Clock
}

export function revisionLevelHandlers({
  proxies,
  serviceLevels,
  clock,
}: RevisionLevelHandlersOptions): Handlers<typeof REVISION_LEVEL_OPERATIONS> {
  return {
    async getRevisionLevels({ author: { tenant }, params, query }, reply) {
      const range = toMeasuredRange(query, clock)
      const { api } = await proxies.get(tenant, params.id)
      const { items: kept } = await proxies.revisions(tenant, params.id)
      const fates = new Map(kept.map(({ revision, fate }) => [revision, fate]))
      const levels = await serviceLevels.ofRevisions(tenant, api, range, whenCallerGone(reply))
      return pageOf(
        levels.map((level) => ({ ...level, fate: fates.get(level.revision) ?? null })),
        query,
      )
    },
  }
}
