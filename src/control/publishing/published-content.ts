/**
 * The bytes of a published document, stored apart from its metadata, so that a page of metadata does not read
 * the bytes of all documents.
 */

import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { documentKind, type Registry, type Write } from '../../storage/store/registry.ts'
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
  /** Number of bytes of the document; missing in documents of earlier versions. */
  readonly size?: number
}

/** As earlier versions stored it. */
interface OldContentBody {
  readonly mediaType: string
  readonly base64: string
}

export const CONTENT_KIND = documentKind<ContentBody | OldContentBody>('content', 'hidden', 'exported')
const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)
/** 10 MB: 0.15 s beside the main thread; higher qualities take seconds for a few percent. */
const OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

const CHUNK_BYTES_MIN = 16 * 1024

/** `id` is the id of the document. */
export async function contentWrite(id: string, tenant: string, { bytes, mediaType }: Content): Promise<Write> {
  const brotli = (await compress(bytes, OPTIONS)).toString('base64')
  const body: ContentBody = { mediaType, brotli, size: bytes.length }
  return { kind: CONTENT_KIND, id, tenant, expected: 0, body }
}

/** Returns the write that removes the content of a document. */
export async function contentRemoval(registry: Registry, tenant: string, id: string): Promise<readonly Write[]> {
  const { revision } = await find(registry, tenant, CONTENT_KIND, id)
  return [{ kind: CONTENT_KIND, id, tenant, expected: revision, body: null }]
}

/** Returns the bytes as published. Throws `Problem('not_found')`. */
export async function readContent(registry: Registry, tenant: string, id: string): Promise<Content> {
  return toContent((await find(registry, tenant, CONTENT_KIND, id)).body)
}

async function toContent(body: ContentBody | OldContentBody): Promise<Content> {
  const { mediaType } = body
  if ('base64' in body) return { bytes: Buffer.from(body.base64, 'base64'), mediaType }
  // One chunk, with room to recognise the end, so that no chunks have to be joined on the main thread.
  const chunkSize = Math.max(CHUNK_BYTES_MIN, (body.size ?? 0) + 1)
  return { bytes: await decompress(Buffer.from(body.brotli, 'base64'), { chunkSize }), mediaType }
}
