/**
 * A revision compiled for one gateway thread: router, validators, declarations and connections to the targets of its backend.
 *
 * Immutable except for the declarations, which can change while subscriptions run. A call keeps the revision that it started
 * with, so a replaced revision is garbage-collected after its last call.
 */

import type { OperationPlan, RoutePlan, UnitsPlan, WebSocketPlan } from '../../boundary/plan/route-plan.ts'
import type { Subscriber } from '../../boundary/plan/canary.ts'
import type { Attribution } from '../../foundation/domain/attribution.ts'
import { createPace, type Pace } from '../../foundation/runtime/pace.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import { isMcpOn, MCP_PATH } from '../../boundary/plan/mcp-exposure.ts'
import { compileCors, type RevisionCors } from '../cors/revision-cors.ts'
import { compileChallenges, type Challenges } from './challenges.ts'
import type { BackendSettings } from '../backend/backend.ts'
import { Balancer } from '../backend/balancer.ts'
import { READ_BYTES_PER_SECOND_MIN } from '../connection/reader-watch.ts'
import { compileResponses, type DeclaredResponses } from '../validation/declared-responses.ts'
import type { CompiledSla, Limiter } from '../../limits/limiter.ts'
import { compileRewrite, type PathRewrite } from '../routing/path-rewrite.ts'
import { createRouteTable, type RouteTable } from '../routing/route-table.ts'
import { toAttribution, withRoute } from './call-attribution.ts'
import { toDeprecationLines } from '../headers/deprecation-headers.ts'
import { compileHeaderEdit, type HeaderEdit } from '../headers/header-edit.ts'
import { compileValidators, type OperationValidators } from '../validation/validate.ts'

export interface CompiledOperation {
  readonly plan: OperationPlan
  readonly position: number
  readonly validators: OperationValidators
  /** Declared responses, for drift detection; null if the operation declares none. */
  readonly responses: DeclaredResponses | null
  /** Number of the revision that a drift names, because it is a canary; null for the active revision. */
  readonly canaryRevision: number | null
  /** Lower-case names of validated headers; `Connection` cannot remove them. */
  readonly validatedHeaders: ReadonlySet<string>
  /** Method and path, for attributions; null if they do not name it. */
  readonly route: string | null
  /** Attribution of calls without a caller. */
  readonly anonymous: Attribution
  /** How units are counted that are known only after the response; null for operations whose units are known before. */
  readonly units: UnitsPlan | null
  /** Null unless the operation is a WebSocket. */
  readonly webSocket: WebSocketPlan | null
  /** How the path changes for the backend; null if it does not. */
  readonly rewrite: PathRewrite | null
}

export interface CompiledRevision {
  readonly plan: RoutePlan
  readonly routes: RouteTable
  readonly operations: readonly CompiledOperation[]
  readonly allowedScopes: ReadonlySet<string>
  /** Scopes that a token may have: the same set, unless the API has a canary. */
  readonly heldScopes: ReadonlySet<string>
  /** Whether an operation requires a client certificate. */
  readonly requiresCertificate: boolean
  readonly challenges: Challenges
  /** Minimum rate at which a client must read a response while bytes are queued. */
  readonly readBytesPerSecondMin: number
  readonly backend: Balancer | null
  /** How the headers for the backend change; null if they do not. */
  readonly requestEdit: HeaderEdit | null
  /** How the headers of the backend's responses change; null if they do not. */
  readonly responseEdit: HeaderEdit | null
  /** By variant. */
  readonly slas: Map<string, CompiledSla>
  /** Lines of headers in every response of the API; `apiLinesFor` adds those of CORS. */
  readonly apiLines: string
  /** Null if the API has no CORS setting. */
  readonly cors: RevisionCors | null
  /** Attribution of calls that are refused before an operation is found. */
  readonly unrouted: Attribution
  /** Whether an operation is exposed over MCP. */
  readonly isMcpOn: boolean
  readonly mcpChallenges: Challenges
  /** Attribution of messages over MCP whose caller is not known yet. */
  readonly unroutedMcp: Attribution
  /** Whether requests for undeclared operations are reported: callers have the published contract, that of the active revision. */
  readonly reportsUndeclaredOperations: boolean
  /** Null unless another revision serves a part of the callers. */
  readonly canary: CompiledCanary | null
}

export interface CompiledCanary {
  readonly revision: CompiledRevision
  matches(this: void, subscriber: Subscriber): boolean
}

export interface RevisionSettings extends BackendSettings {
  readonly gatewayUrl: string
  /** Whether attributions name the routes of operations. */
  readonly namesRoutes?: boolean
}

/** Compiles in slices, so that the thread continues to serve calls. Throws if a schema cannot be compiled. */
export async function compileRevision(
  plan: RoutePlan,
  slas: readonly SlaPlan[],
  limiter: Limiter,
  settings: RevisionSettings,
  pace: Pace = createPace(),
): Promise<CompiledRevision> {
  const validators = await compileValidators(plan, pace)
  const responses = compileResponses(plan)
  await pace()
  const routes = createRouteTable(plan.operations)
  await pace()
  const allowedScopes: ReadonlySet<string> = new Set(plan.allowedScopes)
  const operations = plan.operations.map((operation, position) => ({
    plan: operation,
    position,
    validators: validators[position]!,
    responses: responses[position]!,
    canaryRevision: null,
    validatedHeaders: validatedHeadersOf(operation),
    route: routeOf(operation, settings),
    anonymous: withRoute(toAttribution(plan, operation.operationId, null, null), {
      route: routeOf(operation, settings),
    }),
    units: operation.units ?? null,
    webSocket: operation.webSocket ?? null,
    rewrite: compileRewrite(plan.transform?.basePath, operation.path),
  }))
  return {
    plan,
    routes,
    operations,
    allowedScopes,
    heldScopes: allowedScopes,
    requiresCertificate: plan.operations.some(({ requiresCertificate }) => requiresCertificate === true),
    challenges: compileChallenges(plan, settings.gatewayUrl),
    readBytesPerSecondMin: plan.readBytesPerSecondMin ?? READ_BYTES_PER_SECOND_MIN,
    backend: plan.backend === null ? null : new Balancer(plan.backend, settings),
    requestEdit: compileHeaderEdit(plan.transform?.request ?? {}, plan.backend?.secretHeaders),
    responseEdit: compileHeaderEdit(plan.transform?.response ?? {}),
    slas: new Map(slas.map((sla) => [sla.variant, compileSlaFor(plan, sla, limiter)])),
    apiLines: plan.deprecation === undefined ? '' : toDeprecationLines(plan.deprecation),
    cors: compileCors(plan),
    unrouted: toAttribution(plan, '', null, null),
    isMcpOn: isMcpOn(plan),
    mcpChallenges: compileChallenges(plan, settings.gatewayUrl, MCP_PATH),
    unroutedMcp: toAttribution(plan, '', null, null, 'mcp'),
    reportsUndeclaredOperations: true,
    canary: null,
  }
}

/** Compiles a declaration for the operations of a revision. */
export function compileSlaFor(plan: RoutePlan, sla: SlaPlan, limiter: Limiter): CompiledSla {
  const units = plan.operations.map((operation) => operation.units)
  return limiter.compile(sla, operationIdsOf(plan), units)
}

function routeOf({ method, path }: OperationPlan, { namesRoutes }: RevisionSettings): string | null {
  return namesRoutes === true ? `${method} ${path}` : null
}

function validatedHeadersOf({ parameters }: OperationPlan): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { in: place, name } of parameters) {
    if (place === 'header') names.add(name.toLowerCase())
    else if (place === 'cookie') names.add('cookie')
  }
  return names
}

/** Returns the lines of headers in a response to a request with this `Origin`. */
export function apiLinesFor({ apiLines, cors }: CompiledRevision, origin: string | undefined): string {
  return cors === null ? apiLines : apiLines + cors.calls.linesFor(origin)
}

/** Returns the operation ids by position; every table of a thread uses these positions. */
export function operationIdsOf({ operations }: RoutePlan): string[] {
  return operations.map(({ operationId }) => operationId)
}

/** Returns the revision by which an open connection of `opened` is checked: the same one, as long as it serves. */
export function currentRevisionOf(opened: CompiledRevision, active: CompiledRevision): CompiledRevision {
  const { canary } = active
  return canary !== null && canary.revision.plan.revision === opened.plan.revision ? canary.revision : active
}
