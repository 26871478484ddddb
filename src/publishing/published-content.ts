/**
 * The bytes of a published document, stored apart from its metadata, so that a page of metadata does not read
 * the bytes of all documents.
 */

import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { documentKind, type Registry, type Write } from '../store/registry.ts'
import { find } from '../command/commands.ts'

export interface Content {
  readonly bytes: Buffer
  readonly mediaType: string
}

/** Compressed, because a commit writes the body twice, and blocks the main thread for as long. */
interface ContentBody {
  readonly mediaType: string
  /** base64 */
  readonly brotli: string
}

/** As earlier versions stored it. */
interface OldContentBody {
  readonly mediaType: string
  readonly base64: string
}

const CONTENT_KIND = documentKind<ContentBody | OldContentBody>('content', 'hidden', 'exported')
const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)
/** 10 MB: 0.15 s beside the main thread; higher qualities take seconds for a few percent. */
const OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/** `id` is the id of the document. */
export async function contentWrite(id: string, tenant: string, { bytes, mediaType }: Content): Promise<Write> {
  const body: ContentBody = { mediaType, brotli: (await compress(bytes, OPTIONS)).toString('base64') }
  return { kind: CONTENT_KIND, id, tenant, expected: 0, body }
}

/** Returns the write that removes the content of a document. */
export async function contentRemoval(registry: Registry, tenant: string, id: string): Promise<readonly Write[]> {
  const { revision } = await find(registry, tenant, CONTENT_KIND, id)
  return [{ kind: CONTENT_KIND, id, tenant, expected: revision, body: null }]
}

/** Returns the bytes as published. Throws `Problem('not_found')`. */
export async function readContent(registry: Registry, tenant: string, id: string): Promise<Content> {
  const { body } = await find(registry, tenant, CONTENT_KIND, id)
  const { mediaType } = body
  if ('base64' in body) return { bytes: Buffer.from(body.base64, 'base64'), mediaType }
  return { bytes: await decompress(Buffer.from(body.brotli, 'base64')), mediaType }
}
