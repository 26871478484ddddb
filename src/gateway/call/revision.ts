/**
 * A revision ready to serve in one gateway thread: router, validators and declarations compiled, and
 * its connections to the backend.
 *
 * Immutable but for the declarations, which change under running subscriptions. A call keeps the
 * revision it began with; the last reference to it is the last call.
 */

import type { OperationPlan, RoutePlan } from '../../plan/route-plan.ts'
import type { Attribution } from '../../domain/attribution.ts'
import type { SlaPlan } from '../../plan/sla-plan.ts'
import { Backend, type BackendSettings } from '../backend/backend.ts'
import { READ_BYTES_PER_SECOND_MIN } from '../connection/reader-watch.ts'
import { compileResponses, type DeclaredResponses } from '../validation/declared-responses.ts'
import type { CompiledSla, Limiter } from '../limits/limiter.ts'
import { createRouteTable, type RouteTable } from '../routing/route-table.ts'
import { toAttribution } from './call-attribution.ts'
import { toDeprecationHeaders } from '../headers/deprecation-headers.ts'
import { compileValidators, type OperationValidators } from '../validation/validate.ts'

export interface CompiledOperation {
  readonly plan: OperationPlan
  readonly position: number
  readonly validators: OperationValidators
  /** What its answers are held to; null: nothing is declared. */
  readonly responses: DeclaredResponses | null
  /** Names of headers in lower case that a client cannot have removed, since the operation validates them. */
  readonly validatedHeaders: ReadonlySet<string>
  /** Of calls nobody stands behind. */
  readonly anonymous: Attribution
}

export interface CompiledRevision {
  readonly plan: RoutePlan
  readonly routes: RouteTable
  readonly operations: readonly CompiledOperation[]
  readonly allowedScopes: ReadonlySet<string>
  /** What a client must read of a response while bytes wait for it. */
  readonly readBytesPerSecondMin: number
  readonly backend: Backend | null
  /** By variant. */
  readonly slas: Map<string, CompiledSla>
  /** Name, value, … of what every answer of the API says; null: nothing. */
  readonly apiHeaders: readonly string[] | null
  /** Of calls that were refused before they were routed. */
  readonly unrouted: Attribution
}

/** Compiles aside, in slices: a thread that serves goes on serving. Throws where a schema cannot be compiled. */
export async function compileRevision(
  plan: RoutePlan,
  slas: readonly SlaPlan[],
  limiter: Limiter,
  backends: BackendSettings,
): Promise<CompiledRevision> {
  const validators = await compileValidators(plan)
  const responses = compileResponses(plan)
  const operations = plan.operations.map((operation, position) => ({
    plan: operation,
    position,
    validators: validators[position]!,
    responses: responses[position]!,
    validatedHeaders: validatedHeadersOf(operation),
    anonymous: toAttribution(plan, operation.operationId, null, null),
  }))
  return {
    plan,
    routes: createRouteTable(plan.operations),
    operations,
    allowedScopes: new Set(plan.allowedScopes),
    readBytesPerSecondMin: plan.readBytesPerSecondMin ?? READ_BYTES_PER_SECOND_MIN,
    backend: plan.backend === null ? null : new Backend(plan.backend, backends),
    slas: new Map(slas.map((sla) => [sla.variant, limiter.compile(sla, operationIdsOf(plan))])),
    apiHeaders: plan.deprecation === undefined ? null : toDeprecationHeaders(plan.deprecation),
    unrouted: toAttribution(plan, '', null, null),
  }
}

function validatedHeadersOf({ parameters }: OperationPlan): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { in: place, name } of parameters) {
    if (place === 'header') names.add(name.toLowerCase())
    else if (place === 'cookie') names.add('cookie')
  }
  return names
}

/** In the order by which operations are numbered everywhere in a thread. */
export function operationIdsOf({ operations }: RoutePlan): string[] {
  return operations.map(({ operationId }) => operationId)
}
