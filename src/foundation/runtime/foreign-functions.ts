/** Node's interface to functions of C, which is experimental. Callers must work without it. */

type ForeignFunctions = typeof import('node:ffi')

/** Returns undefined if there is none. Without the warning that it is experimental: an operator cannot act on it. */
export function loadForeignFunctions(): ForeignFunctions | undefined {
  if (process.platform !== 'linux') return undefined
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:ffi')
  } finally {
    process.emitWarning = emitWarning
  }
}
