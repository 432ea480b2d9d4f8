// The words of the pattern language. Keywords match in any case; names keep theirs.
//
// Nothing is ever rejected here: an unknown character, a string or comment without an end and a slip such as `&&`
// become tokens of their own, so that cep/syntax/lex.py can report all of them with a hint and the parser can go on.
lexer grammar CepLexer;

options { caseInsensitive = true; }

// --- reserved: cannot name a stream, a pattern or a variable (columns, attributes and aliases can be most of them) ---
STREAM    : 'STREAM' ;
PATTERN   : 'PATTERN' ;
IMPORT    : 'IMPORT' ;
SEQ       : 'SEQ' ;
AND       : 'AND' ;
OR        : 'OR' ;
NOT       : 'NOT' ;
WHERE     : 'WHERE' ;
PARTITION : 'PARTITION' ;
WITHIN    : 'WITHIN' ;
UNBOUNDED : 'UNBOUNDED' ;
RETURN    : 'RETURN' ;
DISTINCT  : 'DISTINCT' ;
AS        : 'AS' ;
IN        : 'IN' ;
BETWEEN   : 'BETWEEN' ;
LIKE      : 'LIKE' ;
IS        : 'IS' ;
NULL      : 'NULL' ;
TRUE      : 'TRUE' ;
FALSE     : 'FALSE' ;
CASE      : 'CASE' ;
WHEN      : 'WHEN' ;
THEN      : 'THEN' ;
ELSE      : 'ELSE' ;
END       : 'END' ;

// --- not reserved: keywords only where the grammar expects them, names everywhere else ---
TIMESTAMP   : 'TIMESTAMP' ;
WATERMARK   : 'WATERMARK' ;
BY          : 'BY' ;
ORDER       : 'ORDER' ;
MAX         : 'MAX' ;
AHEAD       : 'AHEAD' ;
IDLE        : 'IDLE' ;
AFTER       : 'AFTER' ;
EPOCH       : 'EPOCH' ;
FORMAT      : 'FORMAT' ;
MICROSECOND : 'MICROSECOND' 'S'? ;
NANOSECOND  : 'NANOSECOND' 'S'? ;
MILLISECOND : 'MILLISECOND' 'S'? ;
SECOND      : 'SECOND' 'S'? ;
MINUTE      : 'MINUTE' 'S'? ;
HOUR        : 'HOUR' 'S'? ;
DAY         : 'DAY' 'S'? ;

// --- names and literals ---
IDENTIFIER : [A-Z_] [A-Z0-9_]* ;
QUOTED     : '"' ( ~["\r\n] | '""' )+ '"' ;
INTEGER    : [0-9]+ ;
DECIMAL    : [0-9]+ '.' [0-9]+ ( 'E' [+-]? [0-9]+ )?
           | [0-9]+ 'E' [+-]? [0-9]+
           | '.' [0-9]+ ( 'E' [+-]? [0-9]+ )?
           ;
STRING     : '\'' ( ~['\r\n] | '\'\'' )* '\'' ;

// --- operators and punctuation ---
EQ       : '=' | '==' ;
NE       : '<>' | '!=' ;
LE       : '<=' ;
LT       : '<' ;
GE       : '>=' ;
GT       : '>' ;
PLUS     : '+' ;
MINUS    : '-' ;
STAR     : '*' ;
SLASH    : '/' ;
PERCENT  : '%' ;
QUESTION : '?' ;
LPAREN   : '(' ;
RPAREN   : ')' ;
LBRACE   : '{' ;
RBRACE   : '}' ;
COMMA    : ',' ;
DOT      : '.' ;
SEMI     : ';' ;

// --- between the words ---
LINE_COMMENT  : '--' ~[\r\n]* -> channel(HIDDEN) ;
BLOCK_COMMENT : '/*' ( ~'*' | '*'+ ~[*/] )* '*'+ '/' -> channel(HIDDEN) ;
SPACE         : [ \t\r\n\f\uFEFF\u00A0]+ -> skip ;

// --- what is wrong, for the diagnostics ---
WRONG_OPERATOR       : '&&' | '||' | '=>' | '=<' | '->' | '!' | ':=' | '&' | '|' ;
UNTERMINATED_STRING  : '\'' ( ~['\r\n] | '\'\'' )* ;
UNTERMINATED_QUOTED  : '"' ( ~["\r\n] | '""' )* ;
UNTERMINATED_COMMENT : '/*' ( ~'*' | '*'+ ~[*/] )* '*'* ;
UNKNOWN              : . ;
