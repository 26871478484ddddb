/** Copies an API as often as asked, each copy with documents and a declaration of its own, so that a start reads as much as it would. */

import { API_KIND, apiWrite } from '../src/control/publishing/apis.ts'
import { COMPILED_KIND } from '../src/control/publishing/compiled-document.ts'
import { activeDeployment, PROXY_KIND, proxyWrite } from '../src/control/publishing/proxy-document.ts'
import { COMPLIANCE_KIND } from '../src/control/programmes/compliance-score.ts'
import { DECLARED_KIND } from '../src/control/publishing/declared-fields.ts'
import { CONTENT_KIND } from '../src/control/publishing/published-content.ts'
import {
  OPENAPI_SPEC_KIND,
  OPENSLA_SPEC_KIND,
  openApiWrite,
  openSlaWrite,
} from '../src/control/publishing/specifications.ts'
import { systemClock } from '../src/foundation/runtime/clock.ts'
import { createIdFactory } from '../src/foundation/runtime/ids.ts'
import { type Document, type Registry, type Write } from '../src/storage/store/registry.ts'

const AUTHOR = { tenant: 'default', consumer: 'bench' }
const COPIES_AT_ONCE = 200

export async function copyWholeApi(registry: Registry, api: string, names: readonly string[]): Promise<void> {
  const copy = await wholeApiCopier(registry, api)
  for (let from = 0; from < names.length; from += COPIES_AT_ONCE)
    await registry.commit(AUTHOR, 'bench.stock', names.slice(from, from + COPIES_AT_ONCE).flatMap(copy))
}

async function wholeApiCopier(registry: Registry, api: string): Promise<(name: string) => readonly Write[]> {
  const createId = createIdFactory(systemClock.nowMs)
  const entry = await need(registry.get(API_KIND, api))
  const proxy = await need(registry.find(PROXY_KIND, 'api', api))
  const specification = activeDeployment(proxy.body)?.specification ?? ''
  const document = await need(registry.get(OPENAPI_SPEC_KIND, specification))
  const parts = [
    await need(registry.get(COMPILED_KIND, specification)),
    await contentOf(registry, specification),
    // Otherwise nodes would judge all documents during a measurement.
    await need(registry.get(COMPLIANCE_KIND, specification)),
  ]
  const [declaration] = await registry.list(OPENSLA_SPEC_KIND, { where: { api, inForce: 'true' }, limit: 1 })
  const sla = await need(Promise.resolve(declaration ?? null))
  const slaParts = [await contentOf(registry, sla.id), await need(registry.get(DECLARED_KIND, sla.id))]
  return (name) => {
    const [ofDocument, ofSla] = [createId('oas'), createId('sla')]
    const deployments = Object.fromEntries(
      Object.entries(proxy.body.deployments).map(([revision, each]) => [
        revision,
        { ...each, specification: ofDocument },
      ]),
    )
    return [
      apiWrite(name, entry.tenant, 0, entry.body),
      proxyWrite(createId('prx'), proxy.tenant, 0, { ...proxy.body, api: name, deployments }),
      openApiWrite(ofDocument, document.tenant, 0, { ...document.body, api: name }),
      ...parts.map((part) => rename(part, ofDocument)),
      openSlaWrite(ofSla, sla.tenant, 0, { ...sla.body, api: name }),
      ...slaParts.map((part) => rename(part, ofSla)),
    ]
  }
}

function rename({ kind, tenant, body }: Document, id: string): Write {
  return { kind, id, tenant, expected: 0, body }
}

function contentOf(registry: Registry, id: string): Promise<Document> {
  return need(registry.get(CONTENT_KIND, id))
}

async function need<T>(found: Promise<T | null>): Promise<T> {
  const document = await found
  if (document === null) throw new Error('the registry does not hold what is to be copied')
  return document
}
