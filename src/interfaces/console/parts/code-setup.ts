/** How CodeMirror shows documents: our colours, the nonce of the page for its style element, keys, and JSON or YAML. */

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { search, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export type Language = 'json' | 'yaml'

const theme = EditorView.theme({
  '&': { backgroundColor: 'var(--surface-1)', color: 'var(--text-1)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-content': { caretColor: 'var(--text-1)' },
  '.cm-cursor': { borderLeftColor: 'var(--text-1)' },
  '.cm-gutters': { backgroundColor: 'var(--surface-2)', color: 'var(--text-2)', border: 'none' },
  '.cm-scroller': { fontFamily: 'ui-monospace, monospace', overflow: 'auto', maxHeight: '70vh' },
  // The pictures of the package are data addresses, which the policy of the page refuses.
  '.cm-lint-marker': { content: 'normal', width: '0.8em', height: '0.8em', margin: '0.3em auto' },
  '.cm-lint-marker-error': { content: 'normal', borderRadius: '50%', backgroundColor: 'var(--critical)' },
  '.cm-lint-marker-warning': { content: 'normal', backgroundColor: 'var(--warning)', transform: 'rotate(45deg)' },
  '.cm-lint-marker-info': { content: 'normal', backgroundColor: 'var(--info)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--critical)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warning)' },
  '.cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline dotted var(--info)' },
  '.cm-specialChar': { color: 'var(--critical)' },
  '.cm-collapsedLines': {
    background: 'var(--surface-2)',
    color: 'var(--text-2)',
    '&:before, &:after': { content: '"⋮"' },
  },
  '.cm-panels, .cm-tooltip': { backgroundColor: 'var(--surface-2)', color: 'var(--text-1)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-quiet) !important',
  },
})

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warning)' },
  { tag: tags.comment, color: 'var(--text-2)' },
])

/** Tab leaves the editor, so that users of the keyboard are not caught in it. */
export function setup(label: string, language: Language, isReadOnly: boolean): Extension {
  return [
    EditorView.cspNonce.of(document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''),
    // With the tab index the scrolling part has content that can have the focus.
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorState.readOnly.of(isReadOnly),
    lineNumbers(),
    history(),
    drawSelection(),
    // Characters that reorder text would show a reviewer another document than the one that is saved.
    highlightSpecialChars(),
    search(),
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
    language === 'json' ? json() : yaml(),
    syntaxHighlighting(colours),
    theme,
  ]
}

export function languageOf(text: string): Language {
  return /^\s*[[{]/.test(text) ? 'json' : 'yaml'
}
