/** `/v1/nodes`: the nodes that share the registry; for the tenant of the operator. */

import { OPERATORS_SCOPE } from '../../control/access/platform-access.ts'
import { pageOf } from '../../control/command/page.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { NodeList } from '../../storage/nodes/node-list.ts'
import type { Handlers, Operations } from './operation.ts'
import { list, named, object, pagedQuery, text, time } from './schemas.ts'

const integer = { type: 'integer' } as const
const boolean = { type: 'boolean' } as const
const node = named(
  'Node',
  object({
    name: text,
    version: text,
    position: { ...integer, description: 'Position of the change feed that the node serves.' },
    lag: { ...integer, description: 'Number of changes that the node does not serve yet.' },
    silentSeconds: { ...integer, description: 'Time since the node was heard from.' },
    isLive: { ...boolean, description: 'The node was heard from within 5 seconds. Commands wait for live nodes.' },
    registeredAt: time,
    isSelf: { ...boolean, description: 'This node answers.' },
    differs: {
      type: 'array',
      items: text,
      description: 'Names of the settings in which the node differs from most nodes; their values are never shown.',
    },
    clockOffsetSeconds: {
      type: 'number',
      description: 'By how much its clock is ahead of that of PostgreSQL, at least; negative: behind.',
    },
  }),
)
const tag = 'Service'

export const NODE_OPERATIONS = {
  listNodes: {
    method: 'GET',
    path: '/v1/nodes',
    summary: 'Lists the nodes that share the registry; for the tenant of the operator',
    tag,
    scope: 'health:read',
    query: pagedQuery(),
    status: 200,
    answer: list(node),
    problems: ['operation_forbidden', 'unavailable'],
  },
  removeNode: {
    method: 'DELETE',
    path: '/v1/nodes/:name',
    summary: 'Removes a node that is not live from the list',
    description:
      'For a node that does not return. Until then commands name it in `Tollgate-Pending-Nodes`. Make sure that it has stopped: a ' +
      'node that still serves calls no longer appears in that header until it reaches the registry again.',
    tag,
    scope: OPERATORS_SCOPE,
    status: 204,
    problems: ['operation_forbidden', 'not_found', 'state_conflict', 'unavailable'],
  },
} as const satisfies Operations

export interface NodeHandlersOptions {
  readonly nodeList: NodeList
  /** The tenant of the operator. */
  readonly operator: string
}

export function nodeHandlers({ nodeList, operator }: NodeHandlersOptions): Handlers<typeof NODE_OPERATIONS> {
  function refuseOthers(tenant: string): void {
    if (tenant === operator) return
    throw new Problem('operation_forbidden', 'Only the tenant of the operator may see and remove nodes.')
  }
  return {
    async listNodes({ author, query }, reply) {
      refuseOthers(author.tenant)
      void reply.header('Cache-Control', 'no-store')
      return pageOf(await nodeList.list(), query)
    },
    async removeNode({ author, params }) {
      refuseOthers(author.tenant)
      await nodeList.remove(author, params.name)
    },
  }
}
