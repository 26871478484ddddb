/** Copies a value to the clipboard, and says whether the browser allowed it: it may not, and over plain HTTP there is no clipboard. */

import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'

const SAID_MS = 2_000

export interface Copying {
  /** Replaces the text of the button for two seconds; null before and afterwards. */
  readonly outcome: string | null
  readonly copy: () => Promise<void>
}

export function useCopy(value: string): Copying {
  const [outcome, setOutcome] = useState<string | null>(null)
  const copy = async (): Promise<void> => {
    const isCopied = await writeText(value).then(
      () => true,
      () => false,
    )
    setOutcome(isCopied ? texts.units.copied : texts.units.notCopied)
    setTimeout(() => setOutcome(null), SAID_MS)
  }
  return { outcome, copy }
}

/** Rejects if there is no clipboard. */
async function writeText(value: string): Promise<void> {
  await navigator.clipboard.writeText(value)
}
