# Writes OUT: the bytes of IN, one file or several with commas between them, as a NUL-terminated C array named SYMBOL.
string(REPLACE "," ";" files "${IN}")
set(hex)
foreach(file IN LISTS files)
  file(READ ${file} more HEX)
  string(APPEND hex "${more}")
endforeach()
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {${bytes}0};\n")
