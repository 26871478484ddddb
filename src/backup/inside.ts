/** Where a path leads. */

import { realpathSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'

/** Whether `path` is `folder` or lies in it, through whatever links; neither has to exist. */
export function isInside(folder: string, path: string): boolean {
  return isBelow(relative(realPath(folder), realPath(path)))
}

/** Whether a relative path names its folder or something in it. */
function isBelow(path: string): boolean {
  return !path.startsWith('/') && path.split('/')[0] !== '..'
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), basename(path))
  }
}

/** Whether `path`, relative to a folder, is written in the one way that names something in it. */
export function isPlain(path: string): boolean {
  return path !== '' && path !== '.' && path === normalize(path) && isBelow(path) && !/\0|\/$/.test(path)
}

/** Whether the symbolic link at `path` is one of the embedded store's own: it names something of `clickhouse/`, from there. */
export function isStoreLink(path: string, link: string): boolean {
  const store = /^clickhouse\/./
  return store.test(path) && !link.startsWith('/') && store.test(normalize(join(dirname(path), link)))
}
