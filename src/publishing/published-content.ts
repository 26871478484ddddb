/**
 * The bytes of a published document, apart from what lists show of it: a page of documents must not
 * bring all of them into memory.
 */

import { documentKind, type Registry, type Write } from '../store/registry.ts'
import { find } from '../command/commands.ts'

export interface Content {
  readonly bytes: Buffer
  readonly mediaType: string
}

interface ContentBody {
  readonly mediaType: string
  readonly base64: string
}

const CONTENT_KIND = documentKind<ContentBody>('content')

/** `id` is that of the document. */
export function contentWrite(id: string, tenant: string, { bytes, mediaType }: Content): Write {
  const body: ContentBody = { mediaType, base64: bytes.toString('base64') }
  return { kind: CONTENT_KIND, id, tenant, expected: 0, body }
}

/** Byte for byte as it was published, or `Problem('not_found')`. */
export async function readContent(registry: Registry, tenant: string, id: string): Promise<Content> {
  const { body } = await find(registry, tenant, CONTENT_KIND, id)
  return { bytes: Buffer.from(body.base64, 'base64'), mediaType: body.mediaType }
}
