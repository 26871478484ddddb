/** The origin of all signals: the resource, which is this process, and the instrumentation scope. */

import { resourceFromAttributes } from '@opentelemetry/resources'

export type Resource = ReturnType<typeof resourceFromAttributes>

export interface Origin {
  readonly resource: Resource
  readonly instrumentationScope: { readonly name: string; readonly version: string }
}

export interface OriginOptions {
  readonly version: string
  /** Name of this node. */
  readonly node: string
  /** Attributes of the operator, which override ours. */
  readonly resource: Readonly<Record<string, string>>
}

const NAME = 'tollgate'

export function createOrigin({ version, node, resource }: OriginOptions): Origin {
  const own = { 'service.name': NAME, 'service.version': version, 'service.instance.id': node }
  return {
    resource: resourceFromAttributes({ ...own, ...resource }),
    instrumentationScope: { name: NAME, version },
  }
}
