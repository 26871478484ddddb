/** The technical name of an API: the title in lower case with hyphens, and the major version. */

import { CommandFailed } from '../exit-codes.ts'

export async function deriveApiName(bytes: Uint8Array, file: string): Promise<string> {
  const { parse } = await import('yaml')
  let document: unknown
  try {
    document = parse(Buffer.from(bytes).toString('utf8'), { maxAliasCount: 100 })
  } catch (cause) {
    throw new CommandFailed(`${file} is neither YAML nor JSON: ${firstLine(cause)}`)
  }
  const { title, version } = ((document as { readonly info?: unknown } | null)?.info ?? {}) as Record<string, unknown>
  const major = /^v?(\d+)/.exec(String(version ?? ''))?.[1]
  const name = String(title ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  if (name === '' || major === undefined)
    throw new CommandFailed(`${file} needs info.title and info.version, or name the API with --api.`)
  return `${name}-v${major}`
}

/** The lines after the first one, which ends with a colon, quote the document. */
function firstLine(cause: unknown): string {
  return ((cause as Error).message.split('\n', 1)[0] ?? '').replace(/:$/, '.')
}
