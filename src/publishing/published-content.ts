/**
 * The bytes of a published document, stored apart from its metadata, so that a page of metadata does not read
 * the bytes of all documents.
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

const CONTENT_KIND = documentKind<ContentBody>('content', 'hidden')

/** `id` is the id of the document. */
export function contentWrite(id: string, tenant: string, { bytes, mediaType }: Content): Write {
  const body: ContentBody = { mediaType, base64: bytes.toString('base64') }
  return { kind: CONTENT_KIND, id, tenant, expected: 0, body }
}

/** Returns the bytes as published. Throws `Problem('not_found')`. */
export async function readContent(registry: Registry, tenant: string, id: string): Promise<Content> {
  const { body } = await find(registry, tenant, CONTENT_KIND, id)
  return { bytes: Buffer.from(body.base64, 'base64'), mediaType: body.mediaType }
}
