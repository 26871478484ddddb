/** Reads the document of the revision of an API that serves, in the form for consumers. */

import { find, notFound } from '../command/commands.ts'
import { activeDeployment, PROXY_KIND } from './proxy-document.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { API_KIND } from './apis.ts'
import type { DocumentReader } from './document-reader.ts'
import { readContent } from './published-content.ts'

export interface ServedDocument {
  /** Returns JSON. Throws `Problem('not_found')` if no revision serves. */
  read(tenant: string, api: string): Promise<Uint8Array>
}

export interface ServedDocumentOptions {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'publish'>
}

export function createServedDocument({ registry, documents }: ServedDocumentOptions): ServedDocument {
  return {
    async read(tenant, api) {
      await find(registry, tenant, API_KIND, api)
      const proxy = await registry.find(PROXY_KIND, 'api', api)
      const deployment = proxy?.tenant === tenant ? activeDeployment(proxy.body) : null
      if (deployment === null) throw notFound(API_KIND, api)
      const { bytes } = await readContent(registry, tenant, deployment.specification)
      return documents.publish(bytes, tenant)
    },
  }
}
