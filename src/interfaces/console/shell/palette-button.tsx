/** The button that opens the command palette, and its key (Ctrl-K, or Command-K). */

import { useEffect, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { Palette } from './palette.tsx'

export function PaletteButton() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isAsked = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key === 'k'
      // Another dialog is in front of the page.
      if (!isAsked || document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <button type="button" aria-haspopup="dialog" aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        {texts.palette.button}
      </button>
      {isOpen && <Palette onClose={() => setOpen(false)} />}
    </>
  )
}
